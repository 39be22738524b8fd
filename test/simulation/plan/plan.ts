import type { ReceiverBehaviour } from '../edges/receiver.ts';
import type { ProviderFaults } from '../chain/simulated-provider.ts';

/*
 * A plan is everything that happens from outside: people, faults and their moments, written out one by one, so that a
 * failure can be made smaller by leaving some of it out. What is left to chance in between (latencies, blocks, which
 * answer of many is wrong) follows from the seed.
 */

export const MODELLED_NETWORKS = ['ethereum', 'bsc', 'tron', 'solana'] as const;
export type ModelledNetwork = (typeof MODELLED_NETWORKS)[number];
/** `shared`: several processes on an event store and a server of leases. */
export type Profile = 'embedded' | 'shared';

export interface Order {
  readonly kind: 'order';
  readonly atSec: number;
  readonly order: string;
  readonly merchant: number;
  readonly amount: string;
  readonly currency: 'USDT' | 'USD' | 'EUR';
  /** The request is sent so many times at once. */
  readonly copies: number;
}

export interface Pay {
  readonly kind: 'pay';
  readonly atSec: number;
  readonly order: string;
  readonly network: ModelledNetwork;
  /** Part of what is due, in hundredths. */
  readonly percent: number;
  /** `dust`: a stranger's; `spam`: a token of nobody. */
  readonly coin: 'USDT' | 'USDC' | 'dust' | 'spam';
  readonly payer: string;
}

export interface Cancel {
  readonly kind: 'cancel';
  readonly atSec: number;
  readonly order: string;
}

export interface Refund {
  readonly kind: 'refund';
  readonly atSec: number;
  readonly order: string;
  /** Of what is left, in hundredths; null: all by leaving the amount out. */
  readonly percent: number | null;
  readonly copies: number;
}

/** How much of something must happen after a fault's time before it strikes. */
export interface Amid {
  /** `event`: an event becomes durable. `request`: a provider is asked. `landing`: one is asked once a payment landed. */
  readonly what: 'event' | 'request' | 'landing';
  readonly count: number;
  /** Only events of this type count. */
  readonly type?: string;
  /** Each stream is counted by itself. */
  readonly inOneStream?: boolean;
  /** It strikes within this time afterwards, 20 ms if absent. */
  readonly withinMs?: number;
}

/** A fault with `amid` strikes in the middle of work. */
interface Aimed {
  readonly atSec: number;
  readonly amid?: Amid;
}

/** Something that goes on for a while. */
interface Lasting extends Aimed {
  readonly forSec: number;
}

export type ProviderFault = Lasting & {
  readonly kind: 'provider';
  readonly network: ModelledNetwork;
  readonly provider: number | 'all';
  readonly faults: Partial<ProviderFaults>;
};
export type ReceiverFault = Lasting & {
  readonly kind: 'receiver';
  readonly merchant: number;
  readonly behaviour: ReceiverBehaviour;
};
export type Halt = Lasting & { readonly kind: 'halt'; readonly network: ModelledNetwork };
export type Fees = Lasting & {
  readonly kind: 'fees';
  readonly network: ModelledNetwork;
  readonly price: number;
  /** The price never comes down again. */
  readonly stays?: boolean;
};
export type Frozen = Lasting & { readonly kind: 'frozen'; readonly network: ModelledNetwork; readonly payer: string };
export type Paused = Lasting & { readonly kind: 'paused'; readonly network: ModelledNetwork };
/** The process of this number ends in the middle of whatever it does and is started again after a while. */
export type Kill = Lasting & { readonly kind: 'kill'; readonly node: number };
/** The process is replaced by one of another release, in which this share of the projections has another version. */
export type Upgrade = Lasting & { readonly kind: 'upgrade'; readonly node: number; readonly newShare: number };
/** The event log is lost, and the installation goes on from a copy that is this old; signer and chains are as they are. */
export type Restore = Lasting & { readonly kind: 'restore'; readonly oldSec: number };
/** The process that pays is in the hands of somebody who asks the signer for more than is owed. */
export type Attack = Lasting & { readonly kind: 'attack' };
/** Whoever answers the commands of approvers has them asked to sign something else. */
export type FalseSocket = Lasting & { readonly kind: 'socket' };
/** The process stands still and then goes on as if no time had passed. */
export type Pause = Lasting & { readonly kind: 'pause'; readonly node: number };
/** Whatever follows the log within the process, such as its look-ups, gets no further. */
export type Behind = Lasting & { readonly kind: 'behind'; readonly node: number };
export type Clock = Lasting & { readonly kind: 'clock'; readonly node: number; readonly skewSec: number };
/** Of the shared servers: what holds the leases. */
export type LeasesGone = Lasting & { readonly kind: 'leases'; readonly forgets: boolean };
export type Unknown = Lasting & {
  readonly kind: 'store';
  readonly unknownOutcomes: number;
  readonly isAway: boolean;
  readonly slowMs?: number;
};

export interface Reorg extends Aimed {
  readonly kind: 'reorg';
  readonly network: ModelledNetwork;
  readonly depth: number;
  /** Of the payments that leave the chain, how many never come again, in hundredths. */
  readonly losesPercent: number;
  /** The other payments come back after this time, and nodes forget what the service sent; absent: all come back at once. */
  readonly laterSec?: number;
}

/** Something that operators do once, with the approvals that it takes. */
export interface OperatorAct {
  readonly kind: 'operator';
  readonly atSec: number;
  readonly act: (typeof OPERATOR_ACTS)[number];
  readonly network: ModelledNetwork;
}
/** `settle` pays a merchant all that the books owe; `misplace` pays an order with the treasury's own key. */
export const OPERATOR_ACTS = [
  ...(['withdraw', 'return', 'undo', 'sweep', 'reconcile', 'rebuild'] as const),
  ...(['settle', 'misplace'] as const),
];
/** The signer stands still until two approvers let it go on. */
export type Stopped = Lasting & { readonly kind: 'stopped' };

export interface ForgottenPool extends Aimed {
  readonly kind: 'pool';
  readonly network: ModelledNetwork;
}

export type Step =
  | Order
  | Pay
  | Cancel
  | Refund
  | Reorg
  | ForgottenPool
  | ProviderFault
  | ReceiverFault
  | Halt
  | Fees
  | Frozen
  | Paused
  | Kill
  | Upgrade
  | Restore
  | Pause
  | Attack
  | FalseSocket
  | Behind
  | Clock
  | Unknown
  | LeasesGone
  | OperatorAct
  | Stopped;

/** What may go wrong, by the kinds of its steps. */
const KINDS_OF_FAULTS = [
  'reorg',
  'pool',
  'provider',
  'receiver',
  'halt',
  'fees',
  'frozen',
  'paused',
  'kill',
  'behind',
  'clock',
  'store',
  'leases',
  'stopped',
  'upgrade',
  'restore',
  'pause',
  'attack',
  'socket',
] as const satisfies readonly Step['kind'][];
export const FAULT_KINDS: readonly string[] = KINDS_OF_FAULTS;

export interface Plan {
  readonly seed: string;
  readonly profile: Profile;
  /** Processes: one in the embedded profile; the first one of several pays. */
  readonly nodes: number;
  readonly networks: readonly ModelledNetwork[];
  /** Seconds of a block by network, where a plan wants another pace than the model's. */
  readonly blockSec?: Partial<Record<ModelledNetwork, number>>;
  /** Providers of each network. */
  readonly providers: number;
  readonly merchants: number;
  /** Units at one address from which it is swept by itself; null: never. */
  readonly sweepFrom: string | null;
  /** How long a session may be paid. */
  readonly ttlSec: number;
  /** Between two comparisons of books and chains. */
  readonly reconcileSec: number;
  /** From which amount two providers must agree; null: never. */
  readonly secondSourceFrom: string | null;
  /** In the order of their times. */
  readonly steps: readonly Step[];
}

/** A fault that waits for work strikes after this time at the latest. */
export const PATIENCE_SEC = 300;

/** When the last of a step has happened. */
export function endOf(step: Step): number {
  const waitsSec = 'amid' in step ? PATIENCE_SEC : 0;
  const lastsSec = 'forSec' in step ? step.forSec : step.kind === 'reorg' ? (step.laterSec ?? 0) : 0;
  return step.atSec + waitsSec + lastsSec;
}
