//! Names whose values are secrets: `API_TOKEN`, `dbPassword`, `client-key-data`, `TOKEN_1`.

use std::{
    collections::HashMap,
    sync::{LazyLock, RwLock},
};

/// Last words of names whose values are secrets.
const SECRET: &str = "\
    token tokens password passwords passwd passphrase passcode pass pwd secret secrets credential credentials \
    cred creds authorization apikey apikeys accesskey secretkey privatekey keydata accesskeyid jwt cookie psk \
    otp mnemonic htpasswd";

/// Ends of last words that are joined without a separator: `dbpassword`, `clientsecret`.
const ENDS: &str = "\
    token password passwd passphrase secret credential credentials authorization apikey accesskey accesskeyid \
    secretkey privatekey encryptionkey signingkey";

/// Words for a password in other languages. They end names, too: `DBPasswort`, `数据库密码`.
const FOREIGN: &str = "\
    passwort passwörter kennwort kennwörter passe clave contraseña contrasena senha wachtwoord parola lösenord \
    losenord adgangskode passord salasana hasło haslo heslo jelszó jelszo şifre sifre sandi parolă пароль пароля \
    κωδικός סיסמה 密码 密碼 パスワード 暗証番号 비밀번호 암호";

/// Words before `key` that make it a credential. A key alone is the key of a map.
const KEYS: &str = "\
    access account admin aes api app application auth cipher client consumer crypto decryption deploy ec \
    encryption function hmac integration jwt license master private recovery registration root rsa secret seed \
    server service session shared sign signing ssh storage subscription tls unseal";

/// Last words that do not describe the purpose of a value.
const NEUTRAL: &str = "\
    value val data text string str base b hex plain raw encoded old new current previous";

/// Limit of remembered names: more than the kinds of a case have, and few enough for any machine.
const REMEMBERED: usize = 10_000;

/// Returns `true` if values of this name are secrets. The result is remembered: all revisions have the same few hundred
/// names.
pub(crate) fn is_secret_name(name: &str) -> bool {
    static KNOWN: LazyLock<RwLock<HashMap<String, bool>>> = LazyLock::new(RwLock::default);
    if let Ok(known) = KNOWN.read()
        && let Some(secret) = known.get(name)
    {
        return *secret;
    }
    let secret = by_words(name);
    if let Ok(mut known) = KNOWN.write()
        && known.len() < REMEMBERED
    {
        known.insert(name.to_owned(), secret);
    }
    secret
}

/// Returns `true` if a list of words, separated by spaces, has a word.
fn is_one(list: &str, word: &str) -> bool {
    list.split(' ').any(|it| it == word)
}

fn by_words(name: &str) -> bool {
    let all = words(name);
    let mut words: &[String] = &all;
    while let [rest @ .., last] = words
        && !rest.is_empty()
        && (is_one(NEUTRAL, last) || last.bytes().all(|byte| byte.is_ascii_digit()))
    {
        words = rest;
    }
    let Some((last, before)) = words.split_last() else {
        return false;
    };
    let previous = before.last().map(String::as_str);
    match (previous, last.as_str()) {
        // The name of a Secret, not its content.
        (Some("pull"), "secret" | "secrets") => false,
        (Some("key"), "id") => before.len() > 1 && before[before.len() - 2] == "access",
        (Some(before), "key" | "keys") => is_one(KEYS, before),
        (Some(_), "auth") => true,
        (_, last) => {
            let ends = |word: &str| last.ends_with(word);
            is_one(SECRET, last)
                || is_one(FOREIGN, last)
                || ENDS.split(' ').any(ends)
                || FOREIGN.split(' ').filter(|word| word.len() > 5).any(ends)
        }
    }
}

/// Returns `true` for names of secrets that people choose, such as passwords, which may be numbers.
pub(super) fn is_password(name: &str) -> bool {
    !words(name)
        .iter()
        .any(|word| matches!(word.as_str(), "token" | "tokens" | "key" | "keys" | "cookie"))
        && name != "pass"
}

/// Returns the words of a name in lower case. Words are separated by `-`, `_`, `.` or a capital letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let begins = if c.is_uppercase() {
            // `dbPassword`, and `APIKey`: the last of several capitals belongs to the next word.
            !before.is_uppercase() || chars.peek().is_some_and(|it| it.is_lowercase())
        } else {
            before.is_ascii_digit() != c.is_ascii_digit() || !before.is_alphanumeric()
        };
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut()
            && c.is_alphanumeric()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_by_their_last_word() {
        for name in [
            "token",
            "API_TOKEN",
            "TOKEN_1",
            "dbPassword",
            "ENCRYPTION_KEY",
            "apiKey",
            "APIKey",
            "Pwd",
            "client-key-data",
            "clientsecret",
            "AWS_ACCESS_KEY_ID",
            "aws_secret_access_key",
            "X-Api-Key",
            "PASSWORD_BASE64",
            "redis_auth",
            "Proxy-Authorization",
            "tls.key",
            "passwords",
            "oauth2ClientSecret",
            "tokenValue",
            "token2New",
            "--db-password",
            "Datenbankpasswort",
            "mot_de_passe",
            "CONTRASEÑA",
            "пароль",
            "数据库密码",
        ] {
            assert!(is_secret_name(name), "{name}: {:?}", words(name));
        }
        for name in [
            "secretName",
            "secretRef",
            "tokenTTL",
            "key",
            "sortKey",
            "passwordPolicy",
            "authMode",
            "keyFile",
            "tokenizer",
            "token-file",
            "imagePullSecrets",
            "passthrough",
            "compass-mode",
            "monkey",
            "keys",
            "auth",
            "",
            "0",
            "primaryKey",
            "impasse",
            "enclave",
        ] {
            assert!(!is_secret_name(name), "{name}: {:?}", words(name));
        }
    }
}
