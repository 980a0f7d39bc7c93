//! The refill write itself (R6): additions, the new `rf`, what else is recorded, and every condition.

use super::limit::{Cause, LimitPlan};
use super::{Context, RefillWrite};
use crate::bucket::{LimitField, attribute};
use crate::item::{number, text};
use crate::plan::recovery::Recovery;
use crate::units::{EpochMillis, Millitokens};
use crate::write::{Action, Comparison, Condition, Update};

pub(super) fn build(context: &Context<'_, '_>, limits: &[LimitPlan<'_>]) -> RefillWrite {
    let windows = limits.iter().filter_map(LimitPlan::window_start);
    let last_refill = windows.chain([context.now]).fold(context.last_refill, EpochMillis::max);
    let mut write = Builder {
        actions: Vec::new(),
        conditions: Vec::new(),
    };
    write.item_conditions(context, limits);
    for plan in limits {
        write.balance(plan);
        if is_clamped(plan) {
            // Under a clock behind the last writer's `rf` stays where it is, and so nothing else would show that the
            // clamp was made: delivered again, perhaps under a better clock, it would be made twice.
            write.require(
                attribute(plan.limit.name, LimitField::Tk),
                Comparison::Greater,
                plan.ceiling.0,
            );
        }
        write.records(context, plan);
    }
    write.set("rf", last_refill);
    let valid_until = restamp(context, limits);
    if let Some(boundary) = valid_until {
        write.set("vu", boundary);
        write.restamp_conditions(context, limits);
    }
    let key = context.state.key;
    let update = Update {
        key: key.group.bucket(key.shard),
        actions: write.actions,
        conditions: write.conditions,
        return_item_on_failure: false,
    };
    RefillWrite {
        update,
        last_refill,
        valid_until,
    }
}

/// The instant until which clients may spend again without evaluating anything; `None` leaves `vu` as it is. Only
/// an expired `vu` is moved, only when nothing on the item holds more than it may, and only to a later boundary.
fn restamp(context: &Context<'_, '_>, limits: &[LimitPlan<'_>]) -> Option<EpochMillis> {
    let expired = context
        .state
        .fields()
        .valid_until
        .is_some_and(|until| until <= context.now);
    let within_ceilings = limits
        .iter()
        .filter(|plan| plan.cause == Cause::Rest)
        .all(|plan| plan.numbers.balance <= plan.ceiling);
    if !expired || !within_ceilings {
        return None;
    }
    let window_ends = limits
        .iter()
        .filter(|plan| plan.recovery == Recovery::Session)
        .map(|plan| {
            let end = plan
                .limit
                .window_start
                .zip(plan.limit.window_length_ms())
                .map(|(start, length)| start.saturating_add(length));
            // A window that nobody has opened yet ends now: the next request must open one.
            end.unwrap_or(context.now)
        });
    let boundary = window_ends.chain(context.schedules.next_boundary(context.now)).min()?;
    (boundary > context.now).then_some(boundary)
}

/// Whether a dripping balance is lowered to its ceiling.
fn is_clamped(plan: &LimitPlan<'_>) -> bool {
    plan.cause == Cause::Drip && plan.delta < Millitokens::ZERO
}

struct Builder {
    actions: Vec<Action>,
    conditions: Vec<Condition>,
}

impl Builder {
    fn set(&mut self, attribute: impl Into<String>, instant: EpochMillis) {
        self.actions.push(Action::Set {
            attribute: attribute.into(),
            value: number(instant.0.into()),
        });
    }

    fn require(&mut self, attribute: impl Into<String>, comparison: Comparison, value: i128) {
        self.conditions.push(Condition::compare(attribute, comparison, value));
    }

    fn item_conditions(&mut self, context: &Context<'_, '_>, limits: &[LimitPlan<'_>]) {
        let fields = context.state.fields();
        self.require("rf", Comparison::Equal, context.last_refill.0.into());
        let valid_until = fields.valid_until.map(|until| number(until.0.into()));
        self.conditions.push(Condition::as_read("vu", valid_until));
        if limits.iter().any(LimitPlan::is_regranted) {
            // A doubling that nobody here has seen would make every share too large.
            let count = Condition::compare("shard_count", Comparison::AtMost, context.count.get().into());
            self.conditions
                .push(Condition::Any(vec![Condition::Absent("shard_count".to_owned()), count]));
        }
    }

    fn balance(&mut self, plan: &LimitPlan<'_>) {
        if plan.delta == Millitokens::ZERO {
            return;
        }
        let name = plan.limit.name;
        let balance = attribute(name, LimitField::Tk);
        if plan.delta > Millitokens::ZERO {
            // A refund that landed meanwhile would be topped up past the ceiling. A dripping limit that is no reason
            // by itself has room below its ceiling, so a refund there must not fail the whole write.
            let rides_along = plan.cause == Cause::Drip && !plan.is_reason && !plan.limit.is_wcu();
            let most = if rides_along {
                plan.ceiling.0.saturating_sub(plan.delta.0)
            } else {
                plan.numbers.balance.0
            };
            self.require(&balance, Comparison::AtMost, most);
        }
        self.capacity_as_read(plan);
        if let Cause::Roll { start } = plan.cause {
            self.require(attribute(name, LimitField::Ws), Comparison::Equal, start.0.into());
        }
        self.actions.push(Action::Add {
            attribute: balance,
            delta: plan.delta.0,
        });
    }

    /// `vu` = 0 cannot be told from an earlier 0: only `cp` shows that an operator lowered the limit meanwhile.
    fn capacity_as_read(&mut self, plan: &LimitPlan<'_>) {
        self.require(
            attribute(plan.limit.name, LimitField::Cp),
            Comparison::Equal,
            plan.numbers.base.capacity.0,
        );
    }

    /// What a write records besides balances: the window that a balance reflects and the size of a new grant.
    fn records(&mut self, context: &Context<'_, '_>, plan: &LimitPlan<'_>) {
        let limit = plan.limit;
        if let Some(start) = plan.window_start() {
            let applied = attribute(limit.name, LimitField::Wa);
            let read = limit.window_applied.map(|applied| number(applied.0.into()));
            self.conditions.push(Condition::as_read(&applied, read));
            // An operator's other length leaves nothing else behind where `vu` was 0 before: the window would be
            // rolled, or `vu` set, past its end.
            let length = limit.window_length_s.map(|length| number(length.into()));
            self.conditions
                .push(Condition::as_read(attribute(limit.name, LimitField::Rsa), length));
            if limit.window_applied != Some(start) {
                self.set(applied, start);
            }
        }
        if plan.is_regranted() {
            let attribute_name = attribute(limit.name, LimitField::Gc);
            self.actions.push(Action::Set {
                attribute: attribute_name,
                value: number(context.count.get().into()),
            });
            if limit.topped_up.is_some() {
                self.actions.push(Action::Remove {
                    attribute: attribute(limit.name, LimitField::Tu),
                });
            }
        }
    }

    fn restamp_conditions(&mut self, context: &Context<'_, '_>, limits: &[LimitPlan<'_>]) {
        let fields = context.state.fields();
        for (name, read) in [
            ("sched", fields.sched),
            ("rsched", fields.rsched),
            ("sched_tz", fields.sched_tz),
        ] {
            self.conditions.push(Condition::as_read(name, read.map(text)));
        }
        // An operator's change leaves nothing else behind where `vu` was 0 before: clients would spend what lies above
        // a lowered limit's ceiling, or past a boundary that a schedule of the limit's own now has.
        for plan in limits.iter().filter(|plan| !plan.limit.is_wcu()) {
            if plan.delta == Millitokens::ZERO {
                self.capacity_as_read(plan);
            }
            for (field, read) in [
                (LimitField::Sched, plan.limit.sched),
                (LimitField::Rsched, plan.limit.rsched),
            ] {
                self.conditions
                    .push(Condition::as_read(attribute(plan.limit.name, field), read.map(text)));
            }
        }
        for plan in limits.iter().filter(|plan| plan.cause == Cause::Rest) {
            self.require(
                attribute(plan.limit.name, LimitField::Tk),
                Comparison::AtMost,
                plan.ceiling.0,
            );
        }
    }
}
