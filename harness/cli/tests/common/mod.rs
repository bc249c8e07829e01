//! Runs the program and finds the repository, for the tests in `real_time` and `virtual_time`.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use baton::files::Roots;

/// Folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Cases and fixtures of the repository.
pub fn roots() -> Roots {
    Roots::of(&root())
}

/// Command that runs the program without arguments.
pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_baton"))
}

/// Command that runs the program on the cases and fixtures of the repository.
pub fn baton(arguments: &[&str]) -> Command {
    let mut command = program();
    command.arg("--root").arg(root()).args(arguments);
    command
}

/// Command that runs the program in a folder, where it also keeps its state.
pub fn baton_in(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = program();
    command
        .args(arguments)
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("state"));
    command
}

/// Exit code, standard output and standard error of a program.
pub fn outcome(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Standard output of a program, followed by its standard error.
pub fn printed(output: &Output) -> String {
    let (_, standard, error) = outcome(output);
    standard + &error
}
