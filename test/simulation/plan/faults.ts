import { SOUND, type ProviderFaults } from '../chain/simulated-provider.ts';
import { RECEIVER_BEHAVIOURS } from '../edges/receiver.ts';
import type { Prng } from '../time/prng.ts';
import type { Amid, ModelledNetwork, ProviderFault, Reorg, Step } from './plan.ts';

export const PAYERS = ['alice', 'bob', 'carol', 'dave'] as const;
/** Ethereum's everyday rule wants twelve blocks: what is deeper than that is another kind of world. */
const ORDINARY_DEPTH = { ethereum: 11, bsc: 2, tron: 4, solana: 10 } as const;

const DEEPEST = { ethereum: 40, bsc: 2, tron: 18, solana: 31 } as const;

/** Kinds of what may go wrong; each seed takes some of them. */
export const KINDS = [
  'kill',
  'reorg',
  'deep',
  'pool',
  'provider',
  'receiver',
  'halt',
  'fees',
  'frozen',
  'paused',
  'behind',
  'clock',
  'store',
  'leases',
  'upgrade',
  'attack',
  'pause',
] as const;
/** Of servers that processes share. */
export const SHARED_ONLY: readonly string[] = ['store', 'leases'];
export type Kind = (typeof KINDS)[number];

/** The ways in which a provider can fail, by the names of its faults. */
export type ProviderFaultName = keyof ProviderFaults;
export const PROVIDER_FAULTS = Object.keys(SOUND) as readonly ProviderFaultName[];

/** What there is to break. */
export interface Place {
  readonly nodes: number;
  readonly networks: readonly ModelledNetwork[];
  readonly providers: number;
  readonly merchants: number;
  /** Providers fail in these ways; any, if there are none. */
  readonly providerFaults: readonly ProviderFaultName[];
}

/** A fault of this kind. */
export function faultOf(prng: Prng, kind: Kind, atSec: number, place: Place): Step {
  const { nodes, networks, providers, merchants } = place;
  const network = prng.pick(networks);
  const forSec = prng.pick([5, 30, 120, 600, 1_800]);
  switch (kind) {
    case 'kill':
      return { kind, atSec, forSec: prng.pick([1, 5, 60, 900]), node: prng.between(0, nodes - 1) };
    case 'reorg':
      return {
        kind,
        atSec,
        network,
        depth: prng.between(1, ORDINARY_DEPTH[network]),
        losesPercent: prng.pick([0, 0, 50, 100]),
      };
    case 'deep':
      // Beyond the everyday rule, not beyond the chain's own finality.
      return {
        kind: 'reorg',
        atSec,
        network,
        depth: prng.between(1, DEEPEST[network]),
        losesPercent: prng.pick([0, 50, 100]),
      };
    case 'pool':
      return { kind, atSec, network };
    case 'provider':
      return {
        ...{ kind, atSec, forSec, network },
        provider: prng.between(0, providers - 1),
        faults: providerFault(prng, place.providerFaults),
      };
    case 'receiver':
      return {
        kind,
        atSec,
        forSec,
        merchant: prng.between(0, merchants - 1),
        behaviour: prng.pick(RECEIVER_BEHAVIOURS),
      };
    case 'halt':
      return { kind, atSec, forSec: Math.min(forSec, 600), network };
    case 'fees':
      return { kind, atSec, forSec, network, price: prng.pick([1, 60, 200, 500]) };
    case 'frozen':
      return { kind, atSec, forSec, network, payer: prng.pick(PAYERS) };
    case 'paused':
      return { kind, atSec, forSec, network };
    case 'behind':
      return { kind, atSec, forSec, node: prng.between(0, nodes - 1) };
    case 'clock':
      return {
        kind,
        atSec,
        forSec,
        node: prng.between(0, nodes - 1),
        skewSec: prng.pick([-3_600, -60, -2, 2, 60, 3_600, 86_400]),
      };
    case 'store':
      return {
        kind,
        atSec,
        forSec: prng.pick([1, 20, 120]),
        unknownOutcomes: prng.pick([0.05, 0.3]),
        isAway: prng.chance(0.4),
        slowMs: prng.pick([0, 0, 3_000]),
      };
    case 'upgrade':
      return {
        ...{ kind, atSec, forSec: prng.pick([1, 5, 60]) },
        ...{ node: prng.between(0, nodes - 1), newShare: prng.pick([0.2, 1]) },
      };
    case 'pause':
      return { kind, atSec, forSec: prng.pick([1, 10, 30, 120]), node: prng.between(0, nodes - 1) };
    case 'attack':
      return { kind, atSec, forSec };
    case 'leases':
      return { kind, atSec, forSec: prng.pick([5, 30]), forgets: prng.chance(0.5) };
  }
}

/** Events after which something is half done. */
const HALF_DONE = [
  'DepositDetected',
  'SessionPaid',
  'RefundPayoutSigned',
  'RefundPayoutLanded',
  'RefundCompleted',
  'SweepSigned',
] as const;
/** Between such an event and the signature, nobody else may sign for the account. */
const RESERVED = ['PayoutSequenceReserved', 'MoveSequenceReserved'] as const;
/** Ways to fail that leave everything else readable. */
const ENTIRE: readonly ProviderFaultName[] = ['nulls', 'omits', 'broadcastLies'];
/** Above the usual price, and below what the service may pay. */
const lastingPrices = (network: ModelledNetwork): readonly number[] => (network === 'bsc' ? [12, 14] : [60, 120]);

/** Some faults strike in the middle of work, or where there is nobody to turn to. */
export function aimed(fault: Step, prng: Prng): Step {
  switch (fault.kind) {
    case 'reorg':
      return {
        ...fault,
        ...amid(prng, prng.pick(['request', 'landing', 'event'])),
        ...(prng.chance(0.3) && { laterSec: prng.pick([20, 120, 600]) }),
      };
    case 'fees':
      return {
        ...fault,
        ...amid(prng, 'event'),
        ...(prng.chance(0.2) && { stays: true, price: prng.pick(lastingPrices(fault.network)) }),
      };
    case 'kill':
      // Some processes are away until nothing that they signed can land.
      return {
        ...fault,
        ...amid(prng, 'event', [...HALF_DONE, ...RESERVED]),
        ...(prng.chance(0.3) && { forSec: 900 }),
      };
    case 'store':
    case 'restore':
    case 'upgrade':
    case 'pause':
    case 'frozen':
    case 'paused':
    case 'behind':
    case 'pool':
      return { ...fault, ...amid(prng, 'event') };
    case 'provider':
      // One that leaves out half of everything, for so long that it reads blocks a second time.
      if ('omits' in fault.faults && prng.chance(0.5)) return { ...fault, forSec: 1_800, faults: { omits: 0.5 } };
      return { ...fault, ...amid(prng, 'event'), ...(prng.chance(0.4) && atAll(fault, prng)) };
    default:
      return fault;
  }
}

/** Twelve blocks of Ethereum, which is longer than any other network takes. */
const CONFIRMING_MS = 160_000;

/** A reorganisation strikes while a deposit waits for its confirmations. */
export const whileConfirming = (fault: Reorg, prng: Prng): Reorg => ({
  ...fault,
  amid: { what: 'event', type: 'DepositDetected', count: 1, withinMs: prng.pick([20, 2_000, CONFIRMING_MS]) },
});

/** Every provider fails so; some of them in each answer, until nothing that was signed before can land. */
function atAll({ faults }: ProviderFault, prng: Prng): Partial<ProviderFault> {
  const [[name]] = Object.entries(faults) as [[ProviderFaultName, unknown]];
  const isEntire = prng.chance(0.5) && ENTIRE.includes(name);
  return { provider: 'all', ...(isEntire && { forSec: 1_800, faults: { [name]: 1 } }) };
}

function amid(prng: Prng, what: Amid['what'], types: readonly string[] = HALF_DONE): { amid?: Amid } {
  if (prng.chance(0.3)) return {};
  if (what !== 'event' || prng.chance(0.3)) return { amid: { what, count: prng.between(1, 6) } };
  const [type, count] = [prng.pick(types), prng.between(1, 2)];
  const inOneStream = type === 'RefundCompleted' && count > 1;
  return {
    amid: { what, type, count, withinMs: prng.pick([20, 20, 400, 2_000]), ...(inOneStream && { inOneStream }) },
  };
}

function providerFault(prng: Prng, names: readonly ProviderFaultName[]): Partial<ProviderFaults> {
  const rate = prng.pick([0.02, 0.2, 1]);
  const ways: readonly Partial<ProviderFaults>[] = [
    { lagMs: prng.pick([5_000, 30_000, 300_000]) },
    { otherMachine: prng.pick([0.02, 0.2, 0.5]) },
    { isSilent: true },
    { isDown: true },
    { rateLimited: rate },
    { resets: rate },
    { nulls: rate },
    { omits: rate },
    { broadcastLies: rate },
    { garbage: rate },
  ];
  return prng.pick(names.length === 0 ? ways : ways.filter((way) => names.some((name) => name in way)));
}
