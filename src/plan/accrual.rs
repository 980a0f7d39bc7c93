//! What a dripping limit has gained since its last refill (R2), in whole millitokens.

use crate::schedule::Parameters;
use crate::units::Millitokens;

/// A balance projected to an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projection {
    /// The balance then, clamped to the ceiling.
    pub balance: Millitokens,
    /// What a write must add to reach it; negative where a ceiling was lowered.
    pub delta: Millitokens,
}

/// Projects a balance over `elapsed_ms`: adds floor(elapsed · share of the refill / period), then clamps to the
/// ceiling. An elapsed time of zero or less adds nothing, but clamps all the same.
///
/// `parameters` are the shard's own: capacity (the ceiling) and refill already divided, each rounded down. `None`
/// when the arithmetic leaves 128 bits.
pub fn project(balance: Millitokens, parameters: &Parameters, elapsed_ms: i64) -> Option<Projection> {
    let added = accrued(parameters, elapsed_ms)?;
    let grown = balance.0.saturating_add(added);
    let balance_then = Millitokens(grown.min(parameters.capacity.0));
    Some(Projection {
        balance: balance_then,
        delta: balance_then.checked_sub(balance)?,
    })
}

fn accrued(parameters: &Parameters, elapsed_ms: i64) -> Option<i128> {
    if elapsed_ms <= 0 || parameters.refill <= Millitokens::ZERO || parameters.period_ms <= 0 {
        return Some(0);
    }
    let (refill, period, elapsed) = (parameters.refill.0, parameters.period_ms, i128::from(elapsed_ms));
    // 64-bit division is several times faster, and real amounts fit it.
    if let (Ok(refill), Ok(period), Ok(elapsed)) =
        (u32::try_from(refill), u64::try_from(period), u32::try_from(elapsed))
    {
        return Some(i128::from(u64::from(refill) * u64::from(elapsed) / period));
    }
    Some(elapsed.checked_mul(refill)? / period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parameters(capacity: i128, refill: i128, period_ms: i128) -> Parameters {
        Parameters {
            capacity: Millitokens(capacity),
            refill: Millitokens(refill),
            period_ms,
        }
    }

    #[test]
    fn a_fraction_of_a_millitoken_is_dropped() {
        let projected = project(Millitokens(0), &parameters(100, 1, 3), 5).unwrap();
        assert_eq!(projected.balance, Millitokens(1));
    }

    #[test]
    fn a_lowered_ceiling_clamps_even_when_no_time_passed() {
        let projected = project(Millitokens(50), &parameters(20, 10, 1), 0).unwrap();
        assert_eq!(
            (projected.balance, projected.delta),
            (Millitokens(20), Millitokens(-30))
        );
    }

    #[test]
    fn debt_is_paid_off_before_anything_else() {
        let projected = project(Millitokens(-500), &parameters(1000, 100, 1), 3).unwrap();
        assert_eq!(projected.balance, Millitokens(-200));
    }

    #[test]
    fn an_overflow_is_reported() {
        assert_eq!(project(Millitokens(0), &parameters(5, i128::MAX, 1), 2), None);
    }

    fn amount() -> impl Strategy<Value = i128> {
        prop_oneof![-1_000_000_i128..1_000_000, -(10_i128.pow(20))..10_i128.pow(20)]
    }

    proptest! {
        #[test]
        fn a_projection_never_exceeds_the_ceiling(
            tk in amount(), cp in amount(), ra in 0_i128..10_i128.pow(18), rp in 1_i128..10_i128.pow(10), elapsed in -1_000_i64..10_i64.pow(10),
        ) {
            let projected = project(Millitokens(tk), &parameters(cp, ra, rp), elapsed).unwrap();
            prop_assert!(projected.balance.0 <= cp);
            prop_assert!(projected.balance.0 >= tk.min(cp));
            prop_assert_eq!(tk + projected.delta.0, projected.balance.0);
        }

        #[test]
        fn no_time_or_a_clock_behind_adds_nothing(tk in amount(), cp in amount(), ra in amount(), elapsed in -1_000_000_i64..=0) {
            let projected = project(Millitokens(tk), &parameters(cp, ra, 1000), elapsed).unwrap();
            prop_assert_eq!(projected.balance.0, tk.min(cp));
        }

        #[test]
        fn two_steps_never_add_more_than_one(
            tk in -1_000_000_i128..1_000_000, cp in 0_i128..2_000_000, ra in 0_i128..10_i128.pow(9), rp in 1_i128..10_i128.pow(8),
            first in 0_i64..10_i64.pow(8), second in 0_i64..10_i64.pow(8),
        ) {
            let parameters = parameters(cp, ra, rp);
            let whole = project(Millitokens(tk), &parameters, first + second).unwrap().balance;
            let halfway = project(Millitokens(tk), &parameters, first).unwrap().balance;
            let split = project(halfway, &parameters, second).unwrap().balance;
            prop_assert!(split <= whole, "{split} > {whole}");
        }

        #[test]
        fn the_short_path_agrees_with_the_wide_one(ra in 0_i128..1 << 33, rp in 1_i128..1 << 20, elapsed in 0_i64..1 << 33) {
            let wide = i128::from(elapsed) * ra / rp;
            prop_assert_eq!(accrued(&parameters(0, ra, rp), elapsed), Some(wide));
        }
    }
}
