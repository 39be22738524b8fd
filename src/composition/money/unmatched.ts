import type { AdminCommands } from '../../operator/server/commands.ts';
import { reportInbox } from '../../observability/metrics/inbox.ts';
import type { Returns } from '../../ports/outgoing/returns.ts';
import { CountInbox } from '../../features/unmatched/count.process.ts';
import { SettleInbox } from '../../features/unmatched/carry-out.process.ts';
import { Inbox } from '../../features/unmatched/unmatched.ts';
import { InboxList } from '../../features/unmatched/list.ts';
import { InboxSettlement } from '../../features/unmatched/settlement.ts';
import { inbox as inboxProjection } from '../../../projections/unmatched/unmatched.projection.ts';
import { sessionView } from '../../../projections/sessions/session-view.projection.ts';
import { inboxCommands } from '../../operator/chains/unmatched.ts';
import { searchCommands } from '../../operator/treasury/search-lost.ts';
import { unmatchedTransferOf } from '../../operator/chains/record-transfer.ts';
import { returnsOf } from '../../features/unmatched/returns.ts';
import type { Foundation } from '../service-foundation.ts';
import type { MovingMoney } from '../service-money.ts';
import type { ServiceParts } from '../service-parts.ts';

export interface RunningInbox {
  readonly commands: AdminCommands;
  close(): Promise<void>;
}

const SETTLE_EVERY_MS = { sandbox: 500, production: 5_000 } as const;
const COUNT_EVERY_MS = { sandbox: 2_000, production: 30_000 } as const;

/** Money that pays no order: the operators' commands, and the background work on their decisions. */
export function startInbox(
  parts: ServiceParts,
  { core, rates, metrics, servedRows }: Foundation,
  { payouts }: Pick<MovingMoney, 'payouts'>,
): RunningInbox {
  const { storage, clock, random, log, roles, sandbox } = parts;
  const { readModel } = storage;
  const pace = sandbox ? 'sandbox' : 'production';
  const returns = (): Returns | null => {
    const treasury = payouts?.currentTreasury ?? null;
    return treasury && parts.payouts ? returnsOf(treasury.moves, parts.payouts.signer, clock) : null;
  };
  const { transferHandler: transfers, sessionHandler: sessions, senders } = core;
  const settlement = new InboxSettlement({ transfers, sessions, rates, returns, clock, random });
  const inbox = new Inbox({ transfers, sessions, senders, settlement, returns, clock, random });
  const list = new InboxList(readModel);
  const settle = new SettleInbox({
    readModel,
    settle: (mode, key) => settlement.settle(mode, key),
    log,
    everyMs: SETTLE_EVERY_MS[pace],
  });
  const count = new CountInbox({
    list,
    everyMs: COUNT_EVERY_MS[pace],
    onError: (error) => log.warn({ err: error }, 'the transfers in the inbox could not be counted'),
  });
  reportInbox(metrics.registry, () => count.counts(), clock);
  if (roles.worker || roles.signer) settle.start();
  if (roles.worker) count.start();
  const ofChains = {
    chains: [...parts.chains, ...(parts.solana ?? []).map(({ chain }) => chain)],
    derivers: parts.derivers,
    treasuries: parts.payouts?.addresses ?? new Map(),
    core,
    senders,
  };
  return {
    commands: {
      ...inboxCommands({
        inbox,
        list,
        unmatchedTransferOf: (named) => unmatchedTransferOf(named, ofChains),
        // A transfer is listed with facts from its session, and not at all without them.
        servedRows: servedRows(inboxProjection, sessionView),
        clock,
      }),
      ...searchCommands({ ...ofChains, store: storage.store, inbox }),
    },
    close: async () => {
      await Promise.all([settle.close(), count.close()]);
    },
  };
}
