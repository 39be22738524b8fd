import type { Prng } from '../time/prng.ts';
import type { Amid, ModelledNetwork, Step } from './plan.ts';

/* Faults that wait for a moment in which they do harm, some of them together. Chance alone rarely brings it about. */

export const COMBINED_NAMES = ['unsent', 'cutoff', 'unheard', 'taken-back', 'torn', 'returned'] as const;
const TIMES = 3;

interface Place {
  readonly nodes: number;
  readonly networks: readonly ModelledNetwork[];
  /** What people do, near which the faults strike. */
  readonly steps: readonly Step[];
}

/** What happens several times in a plan, each time just before somebody does such a thing. */
function several(
  prng: Prng,
  { steps }: Place,
  kind: 'pay' | 'refund',
  stepsAt: (atSec: number) => readonly Step[],
): Step[] {
  const moments = steps.flatMap((step) => (step.kind === kind ? [step.atSec] : []));
  if (moments.length === 0) return [];
  return Array.from({ length: TIMES }, () => stepsAt(Math.max(1, prng.pick(moments) - prng.fraction()))).flat();
}

/** Nothing that was just signed reaches a node, until it can never land. */
const unsent = (prng: Prng, place: Place): Step[] =>
  several(prng, place, 'refund', (atSec) => [
    {
      ...{ kind: 'provider', atSec, forSec: 900, network: prng.pick(place.networks), provider: 'all' },
      faults: { isDown: true },
      amid: { what: 'event', type: 'RefundPayoutSigned', count: 1, withinMs: 4 },
    },
  ]);

/** The store goes away once an event is durable that merchants are told of, and the process ends before it is back. */
const cutOff = (prng: Prng, place: Place): Step[] =>
  several(prng, place, 'refund', (atSec) => {
    const type = 'RefundCompleted';
    const amid = (withinMs: number): Amid => ({ what: 'event', type, count: 1, withinMs });
    return [
      { kind: 'store', atSec, forSec: 60, unknownOutcomes: 0, isAway: true, amid: amid(20) },
      { kind: 'kill', atSec, forSec: 5, node: prng.between(0, place.nodes - 1), amid: amid(20_000) },
    ];
  });

/** Nobody in the process hears of two refunds of one session until it has ended and begun again. */
const unheard = (prng: Prng, place: Place): Step[] =>
  several(prng, place, 'refund', (atSec) => {
    const node = prng.between(0, place.nodes - 1);
    const amid = (type: string, withinMs: number): Amid => ({
      ...{ what: 'event', type, count: 2, withinMs },
      inOneStream: true,
    });
    return [
      { kind: 'behind', atSec, forSec: 600, node, amid: amid('RefundPayoutSigned', 20) },
      { kind: 'kill', atSec, forSec: 5, node, amid: amid('RefundCompleted', 2_000) },
    ];
  });

/** A reorganisation takes refunds back that count as paid, where their chain does not call them final yet. */
const takenBack = (prng: Prng, place: Place): Step[] =>
  several(prng, place, 'refund', (atSec) => [
    {
      ...{ kind: 'reorg', atSec, network: prng.pick(place.networks), depth: 40, losesPercent: 0, laterSec: 120 },
      amid: { what: 'event', type: 'RefundPayoutLanded', count: 1, withinMs: 60_000 },
    },
  ]);

/** While the process stands still, a payment lands and is lost again, and its provider's machines show either branch. */
const torn = (prng: Prng, place: Place): Step[] =>
  several(prng, place, 'pay', (atSec) => {
    const network = prng.pick(place.networks);
    const amid = (withinMs: number): Amid => ({ what: 'landing', count: 1, withinMs });
    return [
      { kind: 'provider', atSec, forSec: 1_800, network, provider: 'all', faults: { otherMachine: 0.5 } },
      { kind: 'pause', atSec, forSec: 30, node: 0, amid: amid(2) },
      { kind: 'reorg', atSec, network, depth: 10, losesPercent: 100, amid: amid(20_000) },
    ];
  });

/** A fork takes a payment away for minutes, and another one brings it into a block that is older than its first one. */
const returned = (prng: Prng, place: Place): Step[] =>
  several(prng, place, 'pay', (atSec) => {
    const reorg = { kind: 'reorg', network: prng.pick(place.networks), losesPercent: 0 } as const;
    return [
      { ...reorg, atSec, depth: 3, laterSec: 330, amid: { what: 'event', type: 'DepositDetected', count: 1 } },
      { ...reorg, atSec: atSec + 430, depth: 40 },
    ];
  });

/** By the names under which a plan takes them. */
export const COMBINED: Readonly<Record<(typeof COMBINED_NAMES)[number], (prng: Prng, place: Place) => Step[]>> = {
  ...{ unsent, unheard, torn, returned },
  ...{ cutoff: cutOff, 'taken-back': takenBack },
};
