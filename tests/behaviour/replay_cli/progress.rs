//! What a person at a terminal sees while the decisions go elsewhere.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{Folder, program};

/// What comes to a terminal as standard error, and what went into the file that standard output is.
fn on_a_terminal(arguments: &[&str]) -> (String, String) {
    let folder = Folder::new();
    let decisions = folder.path("decisions.txt");
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&screen, size).unwrap();
    let terminal = ptsname(&screen, Vec::new()).unwrap();
    let terminal = File::options()
        .read(true)
        .write(true)
        .open(terminal.to_str().unwrap())
        .unwrap();
    let mut child = program()
        .args(arguments)
        .env("TERM", "xterm")
        .stdout(File::create(&decisions).unwrap())
        .stderr(Stdio::from(terminal))
        .spawn()
        .unwrap();
    let (mut screen, mut seen) = (File::from(screen), Vec::new());
    // Once the last writer is gone, Linux answers with an error instead of an end.
    if let Err(error) = screen.read_to_end(&mut seen) {
        assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{error}");
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let decisions = std::fs::read_to_string(&decisions).unwrap();
    (String::from_utf8(seen).unwrap(), decisions)
}

#[test]
fn many_files_are_counted_on_the_terminal_while_the_decisions_go_to_a_file() {
    let (seen, decisions) = on_a_terminal(&["events/"]);
    assert!(seen.contains("of 9 files"), "{seen:?}");
    assert!(decisions.contains("totals: 9 events"), "{decisions}");
    assert!(!decisions.contains("of 9 files"), "{decisions}");
}

#[test]
fn one_file_is_not_worth_a_bar() {
    let (seen, decisions) = on_a_terminal(&["events/hot-drip.json"]);
    assert_eq!(seen, "");
    assert!(decisions.contains("totals: 1 event"), "{decisions}");
}
