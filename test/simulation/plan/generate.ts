import { Prng } from '../time/prng.ts';
import { COMBINED, COMBINED_NAMES } from './combined.ts';
import {
  aimed,
  faultOf,
  KINDS,
  PAYERS,
  PROVIDER_FAULTS,
  SHARED_ONLY,
  whileConfirming,
  type Kind,
  type Place,
  type ProviderFaultName,
} from './faults.ts';
import {
  OPERATOR_ACTS,
  type Cancel,
  type ModelledNetwork,
  type Order,
  type Pay,
  type Plan,
  type Profile,
  type Refund,
  type Step,
} from './plan.ts';

const ORDERS_SEC = 1_800;
/** Networks that a seed may take. */
const WORLDS: readonly (readonly ModelledNetwork[])[] = [
  ['ethereum'],
  ['bsc'],
  ['tron'],
  ['solana'],
  ['ethereum', 'bsc'],
  ['bsc', 'tron'],
  ['tron', 'solana'],
];
/** What a focus may ask for beside kinds of fault. */
const MANNERS = [
  ...(['sweep', 'operator', 'aimed', 'deadline', 'refund', 'restore', 'again', 'undo', 'confirming'] as const),
  ...(['settle', 'misplace', 'socket', 'stop'] as const),
  ...COMBINED_NAMES,
] as const;

export interface GenerateOptions {
  readonly steps?: number;
  readonly networks?: readonly ModelledNetwork[];
  readonly profile?: Profile;
  /**
   * These kinds of faults and no others, all the time. `sweep` makes every address be swept, `aimed` makes faults
   * strike in the middle of work, `deadline` makes people pay about the deadline, `refund` makes all ask for several
   * refunds at once, `again` makes all pay once more after the deadline, `undo` makes operators return transfers and
   * undo that, `confirming` makes reorganisations strike while a deposit waits for its confirmations, `settle` makes
   * operators settle with merchants who then refund, `misplace` makes them pay an order from the treasury, `socket` has
   * a false service answer approvers, `stop` stops the signer while it judges. `unsent`, `cutoff`, `unheard`, `taken-back`, `torn` and `returned` add the faults of `combined.ts`.
   */
  readonly focus?: readonly Focus[];
}

export type Focus = Kind | (typeof MANNERS)[number] | ProviderFaultName;
export const FOCUSES: readonly Focus[] = [...KINDS, ...MANNERS, ...PROVIDER_FAULTS];

/** The plan of a seed: its own subset of people and faults, at its own rates. */
export function generate(seed: string, options: GenerateOptions): Plan {
  const prng = new Prng(seed).fork('plan');
  const networks = options.networks ?? prng.pick<readonly ModelledNetwork[]>(WORLDS);
  const providers = prng.between(1, 3);
  const merchants = prng.between(1, 2);
  const wanted = options.steps ?? prng.between(6, 40);
  const profile = options.profile ?? prng.pick(['embedded', 'embedded', 'shared'] as const);
  const nodes = profile === 'shared' ? prng.between(1, 2) : 1;
  const { focus } = options;
  const providerFaults = PROVIDER_FAULTS.filter((name) => focus?.includes(name));
  const isChosen = (kind: Kind): boolean =>
    focus ? focus.includes(kind) || (kind === 'provider' && providerFaults.length > 0) : prng.chance(0.45);
  const kinds = KINDS.filter((kind) => isChosen(kind) && (profile === 'shared' || !SHARED_ONLY.includes(kind)));
  const faultShare = kinds.length === 0 ? 0 : prng.pick(focus ? [0.5] : [0, 0.2, 0.4, 0.6]);
  const ttlSec = prng.pick([300, 600, 1_800]);
  const steps: Step[] = [];
  const mayAim = (fault: Step, own: Prng): Step => {
    if (fault.kind === 'reorg' && focus?.includes('confirming')) return whileConfirming(fault, own);
    return !focus || focus.includes('aimed') ? aimed(fault, own) : fault;
  };
  for (let order = 1; steps.length < wanted; order += 1) {
    const people = {
      ...{ networks, merchants, ttlSec },
      ...{ isLate: focus?.includes('deadline') ?? false, isGivingBack: focus?.includes('refund') ?? false },
      paysAgain: focus?.includes('again') ?? false,
    };
    steps.push(...orderOf(prng.fork(`order ${order}`), `o${order}`, people));
    const faults = prng.fork(`faults ${order}`);
    while (faults.chance(faultShare)) {
      // Most faults do their harm while something is under way.
      const nearSec = faults.pick(steps).atSec + faults.between(0, 240);
      const atSec = faults.chance(0.7) ? nearSec : faults.between(1, ORDERS_SEC + 1_800);
      const fault = faultOf(faults, faults.pick(kinds), atSec + faults.fraction(), {
        ...{ nodes, networks, providers, merchants, providerFaults },
      });
      steps.push(mayAim(fault, faults.fork(`aim ${steps.length}`)));
    }
  }
  const restores = prng.fork('restores');
  if (focus ? focus.includes('restore') : restores.chance(0.1))
    steps.push(mayAim(restoreOf(restores), restores.fork('aim')));
  const operators = prng.fork('operators');
  if (focus ? focus.includes('operator') : operators.chance(0.4)) steps.push(...operatorSteps(operators, networks));
  for (const [manner, faults] of Object.entries(COMBINED))
    if (focus?.some((wanted) => wanted === manner))
      steps.push(...faults(prng.fork(manner), { nodes, networks, steps: [...steps] }));
  if (focus?.includes('undo')) steps.push(...undoneReturns(prng.fork('undone'), networks));
  const isMeant = (manner: Focus, rate: number): boolean =>
    focus ? focus.includes(manner) : prng.fork(`whether ${manner}`).chance(rate);
  const hasRestore = steps.some(({ kind }) => kind === 'restore');
  if (isMeant('settle', 0.2)) steps.push(...settlements(prng.fork('settlements'), networks, steps));
  // An older log does not know of it, and stands still until people have explained what it lacks.
  if (isMeant('misplace', 0.05) && !hasRestore) steps.push(...misplaced(prng.fork('misplaced'), networks));
  if (isMeant('socket', 0.1)) steps.push(...falseSocket(prng.fork('socket'), networks));
  if (focus?.includes('stop') && !steps.some(({ kind }) => kind === 'stopped'))
    steps.push(stopInFlight(prng.fork('stop')));
  return {
    ...{ seed, profile, nodes, networks, providers, merchants },
    ...{
      ttlSec,
      reconcileSec: focus?.some((one) => one === 'sweep' || one === 'misplace') ? 300 : prng.pick([300, 900, 3_600]),
    },
    sweepFrom: focus?.includes('sweep') ? '1' : prng.chance(0.3) ? prng.pick(['1', '20']) : null,
    secondSourceFrom: providers > 1 && prng.chance(0.5) ? prng.pick(['0', '50']) : null,
    steps: steps.toSorted((one, other) => one.atSec - other.atSec),
  };
}

interface People extends Pick<Place, 'networks' | 'merchants'> {
  readonly ttlSec: number;
  /** Everybody pays about the deadline. */
  readonly isLate: boolean;
  /** Everybody is given something back, in several parts at once. */
  readonly isGivingBack: boolean;
  /** Everybody pays once more, after the deadline. */
  readonly paysAgain: boolean;
}
const ABOUT_THE_DEADLINE = 4;

function orderOf(
  prng: Prng,
  order: string,
  { networks, merchants, ttlSec, isLate, isGivingBack, paysAgain }: People,
): Step[] {
  const atSec = prng.between(1, ORDERS_SEC) + prng.fraction();
  const created: Order = {
    kind: 'order',
    atSec,
    order,
    merchant: prng.between(0, merchants - 1),
    amount: prng.pick(['10.00', '0.50', '99.99', '1200.00', '3.33']),
    ...{ currency: prng.pick(['USDT', 'USD', 'EUR'] as const), copies: prng.chance(0.15) ? 2 : 1 },
  };
  const later = (least: number, most: number): number => atSec + prng.between(least, most) + prng.fraction();
  const pay = (percent: number, seconds: number, coin: Pay['coin'] = 'USDT'): Pay => ({
    kind: 'pay',
    atSec: seconds,
    order,
    network: prng.pick(networks),
    percent,
    coin,
    payer: prng.pick(PAYERS),
  });
  const soon = (): number => later(5, ttlSec / 2);
  const payments = (): Pay[] => {
    switch (isLate ? ABOUT_THE_DEADLINE : prng.between(0, 9)) {
      case 0:
        return [];
      case 1:
        return [pay(50, soon()), pay(50, soon())];
      case 2:
        return [pay(prng.between(101, 250), soon())];
      case 3:
        return [pay(prng.between(1, 99), soon())];
      case ABOUT_THE_DEADLINE:
        // On either side of it.
        return [pay(100, later(ttlSec - 30, ttlSec + 30))];
      case 5:
        return [pay(100, soon(), 'USDC')];
      case 6:
        return [pay(100, soon(), 'dust'), pay(100, soon(), 'spam'), pay(100, soon())];
      default:
        return [pay(100, soon())];
    }
  };
  const cancel: Cancel[] = prng.chance(0.15) ? [{ kind: 'cancel', atSec: later(5, ttlSec + 100), order }] : [];
  // Some merchants give several things back at once.
  const firstRefundSec = later(100, 2_400);
  const isAtOnce = prng.chance(isGivingBack ? 1 : 0.4);
  const refunds: Refund[] = prng.chance(isGivingBack ? 1 : 0.45)
    ? Array.from({ length: prng.between(isGivingBack ? 2 : 1, 3) }, () => ({
        kind: 'refund',
        atSec: isAtOnce ? firstRefundSec + prng.fraction() * 10 : later(100, 2_400),
        order,
        percent: prng.pick([null, 10, 50, 100, 130]),
        copies: prng.chance(0.3) ? 2 : 1,
      }))
    : [];
  if (prng.chance(0.1)) return [created, ...partGivenBack(prng, pay, soon, order)];
  const again = paysAgain ? [pay(prng.pick([50, 100]), later(ttlSec + 1, ttlSec + 300))] : [];
  return [created, ...payments(), ...again, ...cancel, ...refunds];
}

/** The log is lost, and a copy is put in its place. */
const restoreOf = (prng: Prng): Step => ({
  ...{ kind: 'restore', atSec: prng.between(300, ORDERS_SEC + 600) + prng.fraction() },
  ...{ forSec: prng.pick([60, 900]), oldSec: prng.pick([5, 60, 600]) },
});

const EVERYDAY_ACTS = OPERATOR_ACTS.filter((act) => act !== 'settle' && act !== 'misplace');

/** Merchants are settled, and refund what they were settled for. */
function settlements(prng: Prng, networks: readonly ModelledNetwork[], steps: readonly Step[]): Step[] {
  return Array.from({ length: prng.between(1, 3) }, (): Step[] => {
    const atSec = prng.between(900, ORDERS_SEC + 1_200) + prng.fraction();
    const settle: Step = { kind: 'operator', atSec, act: 'settle', network: prng.pick(networks) };
    const orders = steps.filter(({ kind }) => kind === 'order') as readonly Order[];
    const refunds = Array.from({ length: prng.between(1, 3) }, (): Refund => {
      const afterSec = atSec + prng.between(60, 1_200) + prng.fraction();
      return { kind: 'refund', atSec: afterSec, order: prng.pick(orders).order, percent: null, copies: 1 };
    });
    return [settle, ...refunds];
  }).flat();
}

/** Somebody pays an order with the key of the treasury. On Solana the model keeps no account of who pays. */
const misplaced = (prng: Prng, networks: readonly ModelledNetwork[]): Step[] =>
  networks
    .filter((network) => network !== 'solana')
    .slice(0, 1)
    .map((network) => ({
      ...{ kind: 'operator', atSec: prng.between(120, ORDERS_SEC) + prng.fraction(), act: 'misplace', network },
    }));

/** Somebody is false while approvers are at work. */
function falseSocket(prng: Prng, networks: readonly ModelledNetwork[]): Step[] {
  const atSec = prng.between(120, ORDERS_SEC + 600) + prng.fraction();
  return [
    { kind: 'socket', atSec, forSec: prng.pick([600, 1_800]) },
    { kind: 'operator', atSec: atSec + prng.between(1, 30), act: 'withdraw', network: prng.pick(networks) },
  ];
}

/** Between the reservation of a payout and its signature. */
const stopInFlight = (prng: Prng): Step => ({
  ...{ kind: 'stopped', atSec: prng.between(60, ORDERS_SEC) + prng.fraction(), forSec: prng.pick([60, 600]) },
  amid: {
    ...{ what: 'event', type: prng.pick(['PayoutSequenceReserved', 'MoveSequenceReserved']), count: 1 },
    withinMs: prng.pick([20, 100, 400]),
  },
});

/** What the people do who run the installation. */
function operatorSteps(prng: Prng, networks: readonly ModelledNetwork[]): Step[] {
  const acts = Array.from({ length: prng.between(1, 6) }, (): Step => {
    const atSec = prng.between(120, ORDERS_SEC + 1_800) + prng.fraction();
    return { kind: 'operator', atSec, act: prng.pick(EVERYDAY_ACTS), network: prng.pick(networks) };
  });
  const stop: Step = {
    ...{ kind: 'stopped', atSec: prng.between(120, ORDERS_SEC) + prng.fraction() },
    forSec: prng.pick([60, 600, 1_800]),
  };
  return prng.chance(0.4) ? [...acts, stop] : acts;
}

/** Transfers that are returned, and a moment later are not to be returned after all. */
function undoneReturns(prng: Prng, networks: readonly ModelledNetwork[]): Step[] {
  return Array.from({ length: prng.between(4, 8) }, () => {
    const atSec = prng.between(400, ORDERS_SEC + 1_800) + prng.fraction();
    const network = prng.pick(networks);
    const undone = atSec + prng.pick([0.01, 0.2, 2, 30]) * prng.fraction();
    return [
      { kind: 'operator', atSec, act: 'return', network } as const,
      { kind: 'operator', atSec: undone, act: 'undo', network } as const,
    ];
  }).flat();
}

/** A part that goes back before the rest comes: together they would be enough. */
function partGivenBack(
  prng: Prng,
  pay: (percent: number, seconds: number) => Pay,
  soon: () => number,
  order: string,
): Step[] {
  const first = soon();
  const refund: Refund = {
    ...{ kind: 'refund', atSec: first + prng.between(30, 240), order },
    ...{ percent: null, copies: 1 },
  };
  return [pay(60, first), refund, pay(60, refund.atSec + prng.between(-30, 240))];
}
