//! Determines the health of an object by a Lua script of a `ResourceInterpreterCustomization` (APP-10).
//!
//! Scripts are untrusted input. Each runs in a separate Lua state with the object, tables, strings and numbers: no
//! files, no programs, no other objects, no clock. Instructions, memory and time are limited, and functions that can
//! run long in a single instruction are left out. The result is `true`, `false`, or a [`Problem`].

use std::cell::Cell;
use std::rc::Rc;

use mlua::{Chunk, ChunkMode, Function, HookTriggers, Lua, LuaOptions, StdLib, Table, Value as LuaValue, VmState};
use serde_json::Value;

use crate::api::Customization;
use crate::keys::Gvk;

/// Function that a script must define.
const FUNCTION: &str = "InterpretHealth";
/// Maximum number of instructions; scripts that use much memory get fewer, because each instruction may take longer
/// then.
const INSTRUCTIONS: usize = 100_000;
/// Number of instructions between two checks of the limits. One instruction that sorts a long list takes as long as
/// thousands of others.
const STEP: u32 = 100;
/// Memory that a script may use in addition to the object, in bytes.
const MEMORY: usize = 8 << 20;
/// Maximum length of a script, in bytes.
const LONGEST: usize = 64 << 10;

/// Lua functions that are left out: they read files or code, write to the console, catch the error that stops a script
/// at a limit, or can run for any time in one instruction.
const LEFT_OUT: [(&str, &[&str]); 4] = [
    (
        "_G",
        &[
            "collectgarbage",
            "dofile",
            "getmetatable",
            "load",
            "loadfile",
            "pcall",
            "print",
            "require",
            "setmetatable",
            "warn",
            "xpcall",
        ],
    ),
    (
        "string",
        &[
            "dump", "find", "gmatch", "gsub", "match", "pack", "packsize", "rep", "unpack",
        ],
    ),
    ("table", &["move"]),
    ("math", &["random", "randomseed"]),
];

/// Reason why a script does not determine the health of an object.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Problem {
    /// The script is too long.
    #[error("the script is longer than {LONGEST} bytes")]
    TooLong,
    /// The script exceeds the limit of instructions.
    #[error("the script takes more than {INSTRUCTIONS} instructions")]
    RanAway,
    /// The script exceeds its time limit.
    #[error("the script takes too long")]
    TooSlow,
    /// The script fails, or uses too much memory.
    #[error("{0}")]
    Failed(String),
    /// The script returns neither true nor false.
    #[error("{FUNCTION} returns {0}, not true or false")]
    NotBoolean(&'static str),
}

/// Returns the health script of a kind with the name of its customization: the first one by name.
pub fn script<'a>(
    customizations: impl IntoIterator<Item = &'a Customization>,
    gvk: &Gvk,
) -> Option<(&'a str, &'a str)> {
    let mut found: Vec<_> = customizations
        .into_iter()
        .filter(|it| Gvk::new(&it.spec.target.api_version, &it.spec.target.kind) == *gvk)
        .filter_map(|it| Some((it.name(), it.spec.health_script()?)))
        .collect();
    found.sort_unstable();
    found.into_iter().next()
}

/// Checks that a health script compiles as Lua, without running it.
///
/// # Errors
/// [`Problem`] with the syntax error and its line.
pub fn compile(script: &str) -> Result<(), Problem> {
    if script.len() > LONGEST {
        return Err(Problem::TooLong);
    }
    let compiled = Lua::new_with(StdLib::NONE, LuaOptions::default()).and_then(|lua| {
        lua.set_memory_limit(lua.used_memory() + MEMORY)?;
        chunk(&lua, script).into_function().map(drop)
    });
    compiled.map_err(|error| Problem::Failed(first_line(&error.to_string())))
}

/// Returns the script as a chunk of Lua source.
fn chunk<'a>(lua: &Lua, script: &'a str) -> Chunk<'a> {
    lua.load(script).set_name("=script").set_mode(ChunkMode::Text)
}

/// Runs a script on an object. `time_is_up` is called repeatedly while the script runs.
///
/// # Errors
/// [`Problem`] if it does not say true or false.
pub fn is_healthy(object: &Value, script: &str, time_is_up: impl Fn() -> bool + 'static) -> Result<bool, Problem> {
    if script.len() > LONGEST {
        return Err(Problem::TooLong);
    }
    let limits = Limits {
        time_is_up: Box::new(time_is_up),
        exceeded: Rc::default(),
    };
    let exceeded = Rc::clone(&limits.exceeded);
    let answer = run(object, script, limits);
    // Report the limit instead of the error that stopped the script.
    if let Some(problem) = exceeded.take() {
        return Err(problem);
    }
    answer.map_err(|error| Problem::Failed(first_line(&error.to_string())))?
}

/// Limits of a script apart from its memory.
struct Limits {
    time_is_up: Box<dyn Fn() -> bool>,
    /// The limit that the script exceeded.
    exceeded: Rc<Cell<Option<Problem>>>,
}

fn run(object: &Value, script: &str, limits: Limits) -> mlua::Result<Result<bool, Problem>> {
    let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
    let lua = Lua::new_with(libraries, LuaOptions::default())?;
    for (table, names) in LEFT_OUT {
        let table: Table = lua.globals().get(table)?;
        for name in names {
            table.set(*name, LuaValue::Nil)?;
        }
    }
    let object = to_lua(&lua, object)?;
    let before = lua.used_memory();
    lua.set_memory_limit(before + MEMORY)?;
    let left = Cell::new(INSTRUCTIONS);
    lua.set_hook(HookTriggers::new().every_nth_instruction(STEP), move |lua, _| {
        // A kibibyte counts as much as an instruction.
        let kibibytes = lua.used_memory().saturating_sub(before) >> 10;
        let problem = match left.get().checked_sub(kibibytes.max(STEP as usize)) {
            None => Problem::RanAway,
            Some(_) if (limits.time_is_up)() => Problem::TooSlow,
            Some(rest) => {
                left.set(rest);
                return Ok(VmState::Continue);
            }
        };
        limits.exceeded.set(Some(problem));
        Err(mlua::Error::runtime("a limit is exceeded"))
    })?;
    chunk(&lua, script).exec()?;
    let function: Function = lua
        .globals()
        .get(FUNCTION)
        .map_err(|_| mlua::Error::runtime(format!("the script defines no function {FUNCTION}")))?;
    Ok(match function.call::<LuaValue>(object)? {
        LuaValue::Boolean(healthy) => Ok(healthy),
        other => Err(Problem::NotBoolean(other.type_name())),
    })
}

/// Converts JSON to a Lua value; null becomes nil.
fn to_lua(lua: &Lua, value: &Value) -> mlua::Result<LuaValue> {
    Ok(match value {
        Value::Null => LuaValue::Nil,
        Value::Bool(yes) => LuaValue::Boolean(*yes),
        Value::Number(number) => match number.as_i64() {
            Some(number) => LuaValue::Integer(number),
            None => LuaValue::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => LuaValue::String(lua.create_string(text)?),
        Value::Array(items) => {
            let items = items
                .iter()
                .map(|item| to_lua(lua, item))
                .collect::<mlua::Result<Vec<_>>>()?;
            LuaValue::Table(lua.create_sequence_from(items)?)
        }
        Value::Object(members) => {
            let table = lua.create_table_with_capacity(0, members.len())?;
            for (key, value) in members {
                table.raw_set(key.as_str(), to_lua(lua, value)?)?;
            }
            LuaValue::Table(table)
        }
    })
}

/// Returns the first line of a Lua error. The stack trace after it does not help the author of the script.
fn first_line(error: &str) -> String {
    const LONGEST: usize = 300;
    error.lines().next().unwrap_or_default().chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn is_healthy(object: &Value, script: &str) -> Result<bool, Problem> {
        super::is_healthy(object, script, || false)
    }

    fn ask(body: &str) -> Result<bool, Problem> {
        let object =
            json!({"metadata": {"name": "x", "gone": null}, "status": {"ready": 2, "of": [1, 2], "half": 0.5}});
        is_healthy(&object, &format!("function InterpretHealth(observedObj)\n{body}\nend"))
    }

    #[test]
    fn what_is_no_lua_does_not_compile() {
        assert_eq!(compile("function InterpretHealth(o) while true do end end"), Ok(()));
        let told = compile("function InterpretHealth(o)\n  return o.status.ready = 2\nend").unwrap_err();
        assert!(told.to_string().contains("script:2:"), "{told}");
        assert_eq!(compile(&" ".repeat(LONGEST + 1)), Err(Problem::TooLong));
        // Compiled Lua is not read, which could be made to do anything.
        assert!(compile("\u{1b}Lua").is_err());
    }

    #[test]
    fn the_example_of_the_proposal_runs() {
        let script = "function InterpretHealth(observedObj)
            return (observedObj.status.updatedReplicas == observedObj.spec.replicas)
               and (observedObj.metadata.generation == observedObj.status.observedGeneration)
            end";
        let object = |updated: i64| {
            json!({"metadata": {"generation": 3}, "spec": {"replicas": 2},
                "status": {"updatedReplicas": updated, "observedGeneration": 3}})
        };
        assert_eq!(is_healthy(&object(2), script), Ok(true));
        assert_eq!(is_healthy(&object(1), script), Ok(false));
    }

    #[test]
    fn the_object_is_as_scripts_expect_it() {
        for expression in [
            "observedObj.metadata.name == 'x'",
            "observedObj.metadata.gone == nil",
            "observedObj.status.ready == 2 and math.type(observedObj.status.ready) == 'integer'",
            "#observedObj.status.of == 2 and observedObj.status.of[2] == 2",
            "observedObj.status.half == 0.5",
            "string.sub('abc', 1, 1) == 'a' and ('x'):upper() == 'X'",
        ] {
            assert_eq!(ask(&format!("return {expression}")), Ok(true), "{expression}");
        }
    }

    #[test]
    fn a_script_that_does_not_say_true_or_false_is_a_problem() {
        assert_eq!(ask("return 1"), Err(Problem::NotBoolean("integer")));
        assert_eq!(ask(""), Err(Problem::NotBoolean("nil")));
        for (script, part) in [
            ("this is no Lua", "syntax error"),
            ("x = 1", "defines no function InterpretHealth"),
            ("function InterpretHealth(o) return o.a.b end", "attempt to index"),
            ("function InterpretHealth(o) error('no idea') end", "no idea"),
            ("\u{1b}Lua", "binary chunk"),
        ] {
            let error = is_healthy(&json!({}), script).unwrap_err().to_string();
            assert!(error.contains(part), "{script}: {error}");
        }
        assert_eq!(is_healthy(&json!({}), &" ".repeat(LONGEST + 1)), Err(Problem::TooLong));
    }

    #[test]
    fn a_script_that_runs_away_is_stopped() {
        for body in [
            "while true do end",
            "local function f() return f() end return f()",
            "local t = {} while true do t[#t + 1] = 1 end",
        ] {
            assert_eq!(ask(body), Err(Problem::RanAway), "{body}");
        }
        for body in [
            "local s = 'x' while true do s = s .. s end",
            "local function f() return 1 + f() end return f()",
        ] {
            let problem = ask(body).unwrap_err();
            assert!(
                matches!(problem, Problem::Failed(_) | Problem::RanAway),
                "{body}: {problem}"
            );
        }
        assert_eq!(is_healthy(&json!({}), "while true do end"), Err(Problem::RanAway));
    }

    #[test]
    fn a_script_that_takes_long_with_few_instructions_is_stopped_when_its_time_is_up() {
        let list: Vec<i32> = (0..2_000).collect();
        let sorting = "function InterpretHealth(o) for i = 1, 20000 do table.sort(o) end return true end";
        // Some 4 instructions a round: far fewer than are allowed by the time that it is asked for the tenth time.
        let asked = Cell::new(0);
        let is_up = move || asked.replace(asked.get() + 1) == 9;
        assert_eq!(super::is_healthy(&json!(list), sorting, is_up), Err(Problem::TooSlow));
        let quick = "function InterpretHealth(o) table.sort(o) return true end";
        assert_eq!(
            super::is_healthy(&json!(list), quick, || true),
            Ok(true),
            "it is over before anybody asks"
        );
    }

    #[test]
    fn one_call_cannot_take_long() {
        for call in [
            "('x'):rep(1e9)",
            "string.rep('x', 1e9, 'y')",
            "('a'):find(('a*'))",
            "string.gsub('a', '.*', 'b')",
            "string.format('%9999s', 'x')",
            "table.unpack({}, 1, 1e7)",
            "table.concat({}, ',', 1, 1e9)",
            "string.pack('s', 'x')",
        ] {
            assert!(
                matches!(ask(&format!("return {call}")), Err(Problem::Failed(_))),
                "{call}"
            );
        }
    }

    #[test]
    fn nothing_but_the_object_is_in_reach() {
        for name in [
            "io",
            "os",
            "package",
            "debug",
            "coroutine",
            "require",
            "dofile",
            "loadfile",
            "load",
            "print",
            "pcall",
            "xpcall",
            "setmetatable",
            "getmetatable",
            "collectgarbage",
            "string.rep",
            "string.find",
            "string.dump",
            "table.move",
            "math.random",
        ] {
            assert_eq!(ask(&format!("return {name} == nil")), Ok(true), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_to_an_end(script in ".{0,200}") {
            let _ = is_healthy(&json!({"status": {}}), &script);
        }

        #[test]
        fn any_made_up_program_comes_to_an_end(words in prop::collection::vec(prop::sample::select(vec![
            "function InterpretHealth(o)", "while true do", "for i = 1, 9e9 do", "if o then", "end", "return", "o", "=", "{}",
            "local", "x", "..", "'a'", "(", ")", "repeat", "until", "string.format('%s', o)", "table.concat({}, 'x')", "\n",
        ]), 0..40)) {
            let _ = is_healthy(&json!({"status": {}}), &words.join(" "));
        }
    }
}
