//! Checks a history of list-append transactions for strict serializability.
//!
//!     checker HISTORY
//!
//! Prints one JSON object. Exit codes: 0 strictly serializable, 1 not, 2 the
//! history cannot be checked: malformed, without anything to conclude from, or
//! too tangled for an answer.
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use adya::history::{History, Mop, OpType};
use adya::{check, Opts, Valid, Workload};
use serde_json::json;

const TIMEOUT: Duration = Duration::from_secs(60);

fn count(history: &History, kind: OpType) -> usize {
    history.ops.iter().filter(|op| op.kind == kind).count()
}

fn keys(history: &History) -> usize {
    let keys: BTreeSet<_> = history.ops.iter().flat_map(|op| op.value.iter().map(Mop::key)).collect();
    keys.len()
}

fn run(path: &str) -> Result<u8, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let history = History::from_json(&text).map_err(|e| format!("{path}: {e}"))?;
    let opts = Opts { timeout: TIMEOUT, ..Opts::default() };
    assert_eq!(opts.models, ["strict-serializable"]);
    let report = check(&history, Workload::ListAppend, &opts);
    let violations: Vec<String> = report
        .anomalies
        .iter()
        .flat_map(|(kind, list)| list.iter().map(move |a| format!("{kind}: {}", a.explanation)))
        .collect();
    let (valid, code) = match report.valid {
        Valid::True => ("true", 0),
        Valid::False => ("false", 1),
        Valid::Unknown => ("unknown", 2),
    };
    let answer = json!({
        "valid": valid,
        "operations": count(&history, OpType::Invoke),
        "unknown": count(&history, OpType::Info),
        "partitions": keys(&history),
        "violations": violations,
    });
    println!("{answer}");
    Ok(code)
}

fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [path] = paths.as_slice() else {
        eprintln!("usage: checker HISTORY");
        return ExitCode::from(2);
    };
    match run(path) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("checker: {error}");
            ExitCode::from(2)
        }
    }
}
