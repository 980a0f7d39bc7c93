//! The table of rules in `src/plan.rs` names tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_rule_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeSet::new();
    for folder in ["src", "tests"] {
        tests_below(&root.join(folder), &mut tests);
    }
    assert!(tests.len() > 400, "the walk found only {} tests", tests.len());
    let text = fs::read_to_string(root.join("src/plan.rs")).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("//! | R"))
        .map(|row| row.trim_end_matches(" |").split(" | ").collect())
        .collect();
    let rules: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    let all: Vec<String> = (1..=12).map(|rule| rule.to_string()).collect();
    assert_eq!(rules, all);
    for row in rows {
        let named: Vec<&str> = row[3].split(", ").map(|name| name.trim_matches('`')).collect();
        assert!(!named.is_empty());
        for name in named {
            assert!(tests.contains(name), "R{}: there is no test {name}", row[0]);
        }
    }
}

fn tests_below(folder: &Path, tests: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_below(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            tests.extend(tests_in(&fs::read_to_string(path).unwrap()));
        }
    }
}

/// Names of the functions that follow a test's attribute.
fn tests_in(source: &str) -> Vec<String> {
    let mut is_test = false;
    let mut names = Vec::new();
    for line in source.lines().map(str::trim_start) {
        let Some((_, function)) = line.split_once("fn ").filter(|_| is_test) else {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            continue;
        };
        names.extend(function.split('(').next().map(str::to_owned));
        is_test = false;
    }
    names
}

#[test]
fn only_tests_count() {
    let source = "fn a() {}\n#[test]\n#[ignore]\nfn b() {}\nfn c() {}\n    #[tokio::test(x)]\n    async fn d() {}";
    assert_eq!(tests_in(source), ["b", "d"]);
}
