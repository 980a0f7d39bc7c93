//! Decides; never does. Values in (changes of one group, siblings as read, `now`), typed writes out.
//!
//! No store, no async runtime, no clock and no environment may appear in this module or below it; a test over the
//! sources keeps it so. What must stay true: the same input gives the same writes, every write carries the
//! conditions that make a repeat harmless, and every decision carries its reason.
//!
//! # The rules
//!
//! Every rule with its home, and tests to read it by; the conformance vectors (`tests/conformance`) and the simulation
//! (`tests/simulation`) hold all of them.
//!
//! | rule | decides | home | tests |
//! |---|---|---|---|
//! | R1 | parameters in force | [`crate::schedule`] | `the_first_matching_entry_decides_and_a_change_is_any_other_entry_taking_over`, `scaling_rounds_down_but_never_to_nothing_and_leaves_a_refill_of_zero` |
//! | R2 | what drips | [`accrual`], [`refill`] | `two_steps_never_add_more_than_one`, `a_lowered_ceiling_clamps_even_when_no_time_passed` |
//! | R3 | calendar resets | [`refill`] | `each_entry_has_edges_of_its_own`, `a_past_edge_counts_only_while_the_minute_before_it_is_within_the_horizon`, `every_refill_vector_leaves_the_right_table` |
//! | R4 | window rolls | [`refill`] | `a_roll_is_dropped_when_the_window_or_what_was_applied_of_it_changed`, `every_refill_vector_leaves_the_right_table` |
//! | R5 | limits that wait, and their ceilings | [`refill`], [`quota`] | `a_recorded_grant_says_its_size_whatever_the_balance_and_the_count`, `every_refill_vector_leaves_the_right_table` |
//! | R6 | the refill write and its conditions | [`refill`] | `a_refill_is_dropped_when_somebody_else_refilled_or_re_evaluated`, `a_clamp_under_a_slow_clock_is_made_once`, `a_lowered_limit_is_never_refilled_to_its_old_ceiling` |
//! | R7 | doublings | [`doubling`] | `a_write_budget_below_a_fifth_doubles_the_count`, `a_count_that_somebody_has_raised_meanwhile_stays`, `every_batch_vector_leaves_the_right_table` |
//! | R8 | raises, creations, the repair | [`propagation`] | `only_a_count_that_rose_on_shard_zero_is_propagated`, `a_raise_never_lowers_a_count_and_never_makes_a_shard`, `a_doubling_between_any_two_calls_leaves_no_shard_behind_and_grants_nothing_twice` |
//! | R9 | who pays for a new shard | [`funding`], [`quota`] | `the_smallest_covering_grant_pays_then_the_lowest_shard`, `spending_and_refunds_between_any_two_calls_are_neither_lost_nor_granted_again` |
//! | R10 | whether the owner is still the same | [`owner`] | `an_owner_made_again_meanwhile_gets_no_shard_of_the_old_one` |
//! | R11 | window starts for the siblings | [`windows`] | `a_start_reaches_every_sibling_with_nothing_but_what_it_needs`, `each_condition_of_the_write_is_checked_again_when_it_lands` |
//! | R12 | usage snapshots | [`usage`] | `one_write_holds_all_records_of_all_shards`, `ten_thousand_histories_of_bad_deliveries_end_in_the_totals_of_a_clean_one`, `whatever_is_dropped_and_redriven_in_whatever_order_is_counted_once` |

pub mod accrual;
pub mod change;
pub mod doubling;
pub mod funding;
pub mod group;
pub mod owner;
pub mod propagation;
pub mod quota;
pub mod recovery;
pub mod refill;
pub mod shard_state;
pub mod usage;
pub mod windows;

pub use change::{BucketChange, SkippedRecord};
pub use group::{Group, group_changes};
pub use shard_state::{FoldedLimit, ShardState};
