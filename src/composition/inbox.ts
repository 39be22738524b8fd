import type { AdminCommands } from '../cli/admin-commands.ts';
import { reportInbox } from '../ops/metrics-inbox.ts';
import type { Returns } from '../ports/returns.ts';
import { CountInbox } from '../processes/count-inbox.process.ts';
import { SettleInbox } from '../processes/settle-inbox.process.ts';
import { Inbox } from '../use-cases/inbox.ts';
import { InboxList } from '../use-cases/inbox-list.ts';
import { InboxSettlement } from '../use-cases/inbox-settlement.ts';
import { inbox as inboxProjection } from '../../projections/inbox.projection.ts';
import { sessionView } from '../../projections/session-view.projection.ts';
import { inboxCommands } from './inbox-commands.ts';
import { strayTransferOf } from './inbox-record.ts';
import { returnsOf } from './inbox-returns.ts';
import type { Foundation } from './service-foundation.ts';
import type { MovingMoney } from './service-money.ts';
import type { ServiceParts } from './service-parts.ts';

export interface RunningInbox {
  readonly commands: AdminCommands;
  close(): Promise<void>;
}

const SETTLE_EVERY_MS = { sandbox: 500, production: 5_000 } as const;
const COUNT_EVERY_MS = { sandbox: 2_000, production: 30_000 } as const;

/** Money that pays no order: what operators may do about it, and what goes on by itself once they decided. */
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
    return treasury && parts.payouts ? returnsOf(treasury, parts.payouts.signer, clock) : null;
  };
  const { transferHandler: transfers, sessionHandler: sessions, senders } = core;
  const settlement = new InboxSettlement({ transfers, sessions, rates, returns, clock, random });
  const inbox = new Inbox({ transfers, sessions, senders, settlement, returns, clock, random });
  const list = new InboxList(readModel);
  const settle = new SettleInbox({ readModel, settle: (mode, key) => settlement.settle(mode, key), log, everyMs: SETTLE_EVERY_MS[pace] });
  const count = new CountInbox({
    list,
    everyMs: COUNT_EVERY_MS[pace],
    onError: (error) => log.warn({ err: error }, 'what waits in the inbox could not be counted'),
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
    commands: inboxCommands({
      inbox,
      list,
      strayTransferOf: (named) => strayTransferOf(named, ofChains),
      // A transfer is listed with what its session says, and not at all without.
      servedRows: servedRows(inboxProjection, sessionView),
      clock,
    }),
    close: async () => {
      await Promise.all([settle.close(), count.close()]);
    },
  };
}
