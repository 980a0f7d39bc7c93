//! `replay schedule`.

use super::replay;

#[test]
fn a_schedule_is_explained_in_words() {
    let ran = replay([
        "schedule",
        "--sched=1h9-17w1-5s500;h0c5",
        "--rsched=1m0h0",
        "--tz=Europe/Berlin",
        "--now=2026-11-02T13:00:00Z",
        "--cp=100000",
        "--ra=10000",
        "--rp=60000",
    ]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for words in [
        "1. * 9-17 * * 1-5: capacity and refill times 0.5, in force now",
        "2. * 0 * * *: capacity 5 tokens",
        "1. 0 0 * * *",
        "last edge: 2026-11-01T23:00:00Z",
        "next boundary: 2026-11-02T17:00:00Z",
        "capacity 50 tokens",
        "refill 5 tokens every 60 s",
    ] {
        assert!(ran.out.contains(words), "{words} is missing in\n{}", ran.out);
    }
}

#[test]
fn an_undecodable_schedule_says_what_is_wrong() {
    for (arguments, words) in [
        (
            ["--sched", "2h9s500"],
            "--sched: schedule version \"2\" is not supported",
        ),
        (["--rsched", "1h9s500"], "--rsched: schedule entry 1"),
        (["--sched", "-"], "--sched: a schedule must begin with its version"),
    ] {
        let ran = replay(["schedule"].into_iter().chain(arguments));
        assert_eq!(ran.code, Some(2));
        assert!(ran.err.contains(words) && ran.err.lines().count() == 1, "{}", ran.err);
    }
}
