//! The modules that decide know no store, no async runtime, no clock and no environment.

use std::fs;
use std::path::{Path, PathBuf};

/// Everything that a decision is made of.
const PURE: [&str; 11] = [
    "archive/day.rs",
    "archive/expired.rs",
    "archive/line.rs",
    "plan",
    "schedule",
    "bucket",
    "record",
    "units.rs",
    "key.rs",
    "item.rs",
    "write.rs",
];

/// What must not occur there, and why.
const FORBIDDEN: [(&str, &str); 20] = [
    ("aws_", "the SDK"),
    ("lambda_runtime", "the Lambda runtime"),
    ("tokio", "an async runtime"),
    ("futures", "async"),
    ("async ", "async"),
    (".await", "async"),
    ("std::env", "the environment"),
    ("std::fs", "files"),
    ("std::net", "the network"),
    ("std::thread", "threads"),
    ("SystemTime", "a clock"),
    ("Instant::now", "a clock"),
    ("Utc::now", "a clock"),
    ("Local::now", "a clock"),
    ("tracing", "a log"),
    ("println!", "output"),
    ("f64", "a float"),
    ("f32", "a float"),
    ("HashMap", "an order that differs from run to run"),
    ("HashSet", "an order that differs from run to run"),
];

/// Modules of this crate that a decision must not reach.
const UNREACHABLE: [&str; 5] = ["aggregate", "clock", "config", "table", "engine"];

#[test]
fn deciding_modules_know_nothing_of_the_world() {
    let sources = pure_sources();
    assert!(sources.len() > 20, "the walk found only {} files", sources.len());
    let found: Vec<String> = sources
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            violations(&text)
                .into_iter()
                .map(move |what| format!("{}: {what}", path.display()))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_check_sees_each_kind_of_violation() {
    for (token, _) in FORBIDDEN {
        assert_eq!(violations(&format!("fn f() {{ {token}x }}")).len(), 1, "{token}");
    }
    for module in UNREACHABLE {
        for path in [
            format!("use crate::{module}::x;"),
            format!("use crate::{{units, {module}}};"),
        ] {
            assert_eq!(violations(&path).len(), 1, "{path}");
        }
    }
    assert!(violations("// a clock such as SystemTime would be wrong here\nfn f() {}").is_empty());
    assert!(violations("fn f() {}\n#[cfg(test)]\nmod tests { use std::fs; }").is_empty());
}

/// What a source says that it must not. Comments and unit tests may name anything.
fn violations(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut found = Vec::new();
    for line in lines {
        let tokens = FORBIDDEN.iter().filter(|(token, _)| line.contains(token));
        found.extend(tokens.map(|(token, why)| format!("`{token}` is {why}")));
        let reaches = |module: &&&str| {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            line.contains("crate::") && line.trim_start().starts_with("use ") && words.clone().any(|w| w == **module)
                || line.contains(&format!("crate::{module}::"))
        };
        found.extend(
            UNREACHABLE
                .iter()
                .filter(reaches)
                .map(|module| format!("reaches `{module}`")),
        );
    }
    found
}

fn pure_sources() -> Vec<PathBuf> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    for name in PURE {
        if name.ends_with(".rs") {
            sources.push(src.join(name));
        } else {
            sources.push(src.join(format!("{name}.rs")));
            walk(&src.join(name), &mut sources);
        }
    }
    sources
}

fn walk(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && path.file_name().is_none_or(|name| name != "tests.rs")
        {
            sources.push(path);
        }
    }
}
