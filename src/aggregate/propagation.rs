//! R8 carried out: read, raise, create one shard at a time, repair.
//!
//! Only the read and the raises are owed to the stream: what is not created here, a client creates on first use.

use std::collections::BTreeMap;

use super::group::GroupRun;
use super::ledger::Debt;
use super::observe::{NewShardResult, Observer, Step, WriteResult};
use super::outcome::{Ending, Unfinished};
use crate::bucket::Bucket;
use crate::item::Item;
use crate::plan::propagation::{
    Creation, CreationRefusal, NewShard, Propagation, Raise, Rise, Siblings, repairs, shard_zero,
};
use crate::table::{Consistency, Fault, Table, TransactionOutcome};
use crate::units::{ShardCount, ShardId};

impl<T: Table, O: Observer> GroupRun<'_, T, O> {
    /// Propagates the rise that the group's change at `place` shows.
    pub(super) async fn propagate(&self, place: usize, rise: Rise) {
        if rise.is_above_maximum() {
            return self.observer.step(self.group, &Step::RiseRefused { rise });
        }
        let change = &self.group.changes[place];
        let propagation = Propagation::new(change, rise, self.now);
        let read = self.read_shards(&propagation.reads(), Consistency::Strong).await;
        if let Err(fault) = &read {
            self.observer.step(self.group, &Step::RiseUnread { rise, fault });
            let ending = Ending::of_fault(fault);
            if ending.is_owed() {
                let owed = Unfinished::after(ending, change.sequence);
                return self.ledger.settle(Debt::Rise(place), owed);
            }
        }
        let siblings = read.as_ref().ok();
        let raised = self.raise(propagation.raises(siblings), rise).await;
        // What follows is not owed: a client creates on first use what is not created here.
        let owed = Unfinished::after(raised.ending, change.sequence);
        self.ledger.settle(Debt::Rise(place), owed);
        let creation = match (propagation.refused_from_the_start(), siblings, raised.failed) {
            (Some(refusal), _, _) => Err(refusal.clone()),
            (None, None, _) => Err(CreationRefusal::ReadFailed),
            (None, Some(_), true) => Err(CreationRefusal::RaiseFailed),
            (None, Some(siblings), false) => propagation.creation(siblings),
        };
        match creation {
            Err(refusal) => {
                let refusal = &refusal;
                self.observer.step(self.group, &Step::NothingCreated { rise, refusal });
            }
            Ok(creation) => self.create(creation, rise).await,
        }
    }

    pub(super) async fn read_shards(&self, shards: &[ShardId], consistency: Consistency) -> Result<Siblings, Fault> {
        if shards.is_empty() {
            return Ok(Siblings::new());
        }
        let keys: Vec<_> = shards.iter().map(|shard| self.group.key.bucket(*shard)).collect();
        let items = self.table.read(&keys, consistency).await?;
        Ok(shards
            .iter()
            .copied()
            .zip(items)
            .collect::<BTreeMap<ShardId, Option<Item>>>())
    }

    async fn raise(&self, raises: Vec<Raise>, rise: Rise) -> Raised {
        let mut raised = Raised {
            failed: false,
            ending: Ending::Skipped,
        };
        for raise in raises {
            let result = self.write(&raise.update).await;
            raised.failed |= matches!(result, WriteResult::Failed(_));
            raised.ending = raised.ending.max(Ending::of_write(&result));
            let step = Step::Raise {
                rise,
                raise: &raise,
                result: &result,
            };
            self.observer.step(self.group, &step);
        }
        raised
    }

    /// One at a time: all of them check one owner, and concurrent transactions on an item cancel each other; and
    /// each must see what its donor has left.
    async fn create(&self, mut creation: Creation<'_, '_>, rise: Rise) {
        let mut created = Vec::new();
        for shard in rise.new_shards() {
            let planned = creation.plan(shard);
            let result = match &planned {
                Ok(new) => Some(self.transact(new).await),
                Err(_) => None,
            };
            let step = Step::NewShard {
                rise,
                shard,
                plan: planned.as_ref(),
                result: result.as_ref(),
            };
            self.observer.step(self.group, &step);
            if let (Ok(new), Some(NewShardResult::Applied | NewShardResult::DryRun)) = (planned, result) {
                creation.created(&new);
                created.push(new);
            }
        }
        if !self.settings.dry_run && created.iter().any(|new| !new.fundings.is_empty()) {
            self.repair(&created, rise).await;
        }
    }

    async fn transact(&self, new: &NewShard<'_>) -> NewShardResult {
        if self.settings.dry_run {
            return NewShardResult::DryRun;
        }
        match self.table.transact(&new.transaction).await {
            Ok(TransactionOutcome::Applied) => NewShardResult::Applied,
            Ok(TransactionOutcome::LostRace { failed }) => NewShardResult::LostRace {
                exists: failed.first() == Some(&0),
            },
            Err(fault) => NewShardResult::Failed(fault),
        }
    }

    /// Raises what was created if a doubling landed meanwhile. A failure is shown and swallowed: within the period
    /// one share can then be granted twice, once (ADR-145).
    async fn repair(&self, created: &[NewShard<'_>], rise: Rise) {
        let keys = [shard_zero(&self.group.key)];
        let read = match self.table.read(&keys, Consistency::Strong).await {
            Ok(items) => items.into_iter().next().flatten(),
            Err(fault) => {
                return self
                    .observer
                    .step(self.group, &Step::RepairUnread { rise, fault: &fault });
            }
        };
        let count = read
            .as_ref()
            .and_then(|item| Bucket::from_item(item).ok())
            .map(|bucket| bucket.fields.shard_count());
        for raise in repairs(&self.group.key, created, rise.to, count.unwrap_or(ShardCount::ONE)) {
            let result = self.write(&raise.update).await;
            self.observer.step(
                self.group,
                &Step::Repair {
                    rise,
                    raise: &raise,
                    result: &result,
                },
            );
        }
    }
}

/// What became of the raises of one rise.
struct Raised {
    /// Whether any of them failed.
    failed: bool,
    /// How the worst of them ended.
    ending: Ending,
}
