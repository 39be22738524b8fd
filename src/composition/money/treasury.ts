import { setTimeout as sleep } from 'node:timers/promises';
import type { MoveTerms } from '../../domain/events/treasury-move-events.ts';
import { amountOf } from '../../domain/money/money.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import type { DepositState } from '../../../state-machines/checkout-session/deposits.ts';
import { indexKey } from '../../features/addresses/address-index.ts';
import type { Core } from '../core.ts';
import { addressFamilyOf } from '../../domain/networks/networks.ts';
import type { OutgoingChain } from '../../ports/outgoing/chain.ts';
import { Comparisons } from '../../features/treasury/comparisons.ts';
import { inTurnReconciler, reportOutflows } from '../../features/treasury/reconcile.ts';
import { newestBooked } from '../../features/treasury/reconcile-look.ts';
import type { NativeDeps } from '../../features/treasury/reconcile-native.ts';
import { lookForUnbooked } from '../../features/treasury/reconcile-unbooked.ts';
import { TreasuryLook } from '../../features/treasury/look.process.ts';
import type { JournalCheck } from '../../features/payouts/journal-check.ts';
import { MoveMoney } from '../../features/payouts/moves/moves.process.ts';
import type { MoveExecutor } from '../../features/payouts/moves/records.ts';
import type { PayRefunds } from '../../features/payouts/refunds/refunds.process.ts';
import { SweepCollected } from '../../features/treasury/sweep.process.ts';
import { WatchTreasuries, type WatchedTreasury } from '../../features/treasury/watch-outflows.process.ts';
import type { TreasuryHandler } from '../../features/shared/handlers/treasury-handler.ts';
import { givenAddress } from '../networks/given-address.ts';
import { depositGraceMsOf, pollMsOf, type PayoutDeps, type PayoutParts } from './payouts.ts';
import type { Treasury } from '../../features/treasury/treasury.ts';

const RECONCILE_PAUSE_MS = { sandbox: 700, production: 20_000 } as const;
/**
 * Collection addresses per network and comparison. Providers also serve other requests at the same time, TRON's one
 * address at a time.
 */
const ADDRESSES_A_LOOK = 500;
const SWEEP_EVERY_MS = { sandbox: 3_000, production: 60_000 } as const;
const BALANCES_EVERY_MS = { sandbox: 5_000, production: 120_000 } as const;

type MoveDeps = PayoutDeps & { readonly treasuries: TreasuryHandler; readonly journalCheck: JournalCheck };

/** Starts sweeps, withdrawals and settlements; `treasuries` is the handler that refunds use too. */
export function startTreasury(
  parts: PayoutParts,
  chains: readonly OutgoingChain[],
  payouts: PayRefunds,
  deps: MoveDeps,
): Treasury {
  const { config, core, readModel, wholeBooks, proveBooks, clock, random, log, mayPay, onUnbooked } = deps;
  const pace = parts.sandbox ? 'sandbox' : 'production';
  const watch = watchBalances(parts, chains, deps);
  const moves = movesOf(parts, chains, payouts, deps);
  const sweeper = new SweepCollected({
    moves,
    readModel,
    sessions: core.sessionHandler,
    clock,
    random,
    log,
    fromUnits: config.SWEEP_FROM === undefined ? null : amountOf(config.SWEEP_FROM),
    everyMs: SWEEP_EVERY_MS[pace],
  });
  const pause = (): Promise<void> => sleep(RECONCILE_PAUSE_MS[pace]);
  // After a kill, local chains start over or lag a second behind the event log; none of their providers lags.
  const bookedBlocks: Pick<NativeDeps, 'newestBooked'> = {
    newestBooked: async (chain) => (parts.sandbox ? 0 : newestBooked(readModel, chain)),
  };
  const comparisons = new Comparisons();
  const reconcileInTurn = inTurnReconciler({
    ...{ readModel, wholeBooks, proveBooks, ...bookedBlocks },
    signer: parts.signer,
    sent: ({ chain }) => payouts.sent(chain.mode, chain.network),
    clock,
    log,
    pause,
  });
  const reconcile = (executor: MoveExecutor, addressesTo?: string | null) =>
    comparisons.run(executor.chain, 'treasury', () => reconcileInTurn(executor, addressesTo));
  // After a kill, a local chain may lag a second behind the event log, so the sandbox compares only on command.
  const everyMs = parts.sandbox ? 0 : config.RECONCILE_EVERY_SECONDS * 1000;
  const unbookedMoney = unbookedLook(parts, { readModel, wholeBooks, proveBooks, ...bookedBlocks, clock }, pause);
  const unbooked: Treasury['unbooked'] = (executor, after, most) =>
    comparisons.run(executor.chain, 'addresses', () => unbookedMoney(executor, after, most));
  const looking = new TreasuryLook({
    ...{ moves, reconcile, onUnbooked, mayPay, clock, log, everyMs },
    onOverdue: ({ chain }, overdueSec) => comparisons.overdue(chain, overdueSec),
    unbooked: (executor, after) => unbooked(executor, after, ADDRESSES_A_LOOK),
  });
  looking.start();
  moves.start();
  sweeper.start();
  watch.start();
  return {
    moves,
    sweeper,
    reconcile,
    unbooked,
    balances: () => watch.balances(),
    comparisons: () => comparisons.all,
    stop: async () => {
      await looking.stop();
      await watch.stop();
      await sweeper.stop();
      await moves.stop();
    },
  };
}

const movesOf = (
  parts: PayoutParts,
  chains: readonly OutgoingChain[],
  payouts: PayRefunds,
  { core, treasuries, journalCheck, clock, random, log, mayPay }: MoveDeps,
): MoveMoney =>
  new MoveMoney({
    ...{ chains, treasuries, journalCheck, clock, random, log, mayPay },
    addresses: parts.addresses,
    signer: parts.signer,
    owed: (mode, network) => payouts.owed(mode, network),
    depositOf: (terms) => returnedDeposit(core, terms),
    depositGraceMs: depositGraceMsOf(parts.sandbox),
    pollMs: pollMsOf(parts.sandbox),
  });

const watchBalances = (
  parts: PayoutParts,
  chains: readonly OutgoingChain[],
  { log }: Pick<PayoutDeps, 'log'>,
): WatchTreasuries =>
  new WatchTreasuries({
    treasuries: treasuriesOf(chains, parts),
    everyMs: BALANCES_EVERY_MS[parts.sandbox ? 'sandbox' : 'production'],
    onError: (error, { mode, network }) =>
      log.debug({ err: error, mode, network }, 'the balances of a treasury could not be read'),
  });

async function returnedDeposit(
  { addressIndexes, sessionHandler }: Core,
  { mode, network, deposit }: MoveTerms,
): Promise<DepositState | null> {
  const id = deposit && addressIndexes.get(indexKey(mode, addressFamilyOf(network)))?.sessionOf(deposit.toAddress);
  if (!id) return null;
  return (await sessionHandler.read(sessionStream(id)))?.context.deposits.get(deposit.depositKey) ?? null;
}

function unbookedLook(
  { signer }: PayoutParts,
  {
    readModel,
    ...books
  }: Pick<PayoutDeps, 'readModel' | 'wholeBooks' | 'proveBooks' | 'clock'> & Pick<NativeDeps, 'newestBooked'>,
  pause: () => Promise<void>,
): Treasury['unbooked'] {
  return (executor, after, most) => {
    const { chain } = executor;
    const derivedForm = (address: string): string => givenAddress(chain.network, address) ?? address;
    const native = {
      ...{ ...books, executor, readModel, derivedForm },
      reportOutflows: () => reportOutflows(executor, signer),
    };
    return lookForUnbooked({ chain, readModel, wholeBooks: books.wholeBooks, native, pause }, after, most);
  };
}

function treasuriesOf(chains: readonly OutgoingChain[], { addresses }: PayoutParts): WatchedTreasury[] {
  return chains.flatMap((chain) => {
    const address = addresses.get(chain.mode)?.[addressFamilyOf(chain.network)];
    return address === undefined
      ? []
      : [{ mode: chain.mode, network: chain.network, balances: () => chain.balances(address) }];
  });
}
