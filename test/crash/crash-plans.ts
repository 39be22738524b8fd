/* Where the process is killed: every point of each way that money goes out, and the orders in which they are killed one after the other. */

export const NETWORKS = ['ethereum', 'bsc', 'tron', 'solana'] as const;
export type KilledNetwork = (typeof NETWORKS)[number];
export const isKilledNetwork = (text: string): text is KilledNetwork => (NETWORKS as readonly string[]).includes(text);

/** In the order a payout comes by. */
export const REFUND_POINTS = [
  'before-reserve',
  'after-reserve',
  'signer-before-journal',
  'signer-after-journal',
  'after-sign',
  'after-signed-event',
  'after-sequence-event',
  'before-broadcast',
  'after-broadcast',
  'before-landed-event',
  'after-landed-event',
] as const;

/** In the order any move of the treasury comes by. */
export const MOVE_POINTS = [
  'before-move-reserve',
  'after-move-reserve',
  'signer-before-journal',
  'signer-after-journal',
  'after-move-sign',
  'after-move-signed-event',
  'before-broadcast',
  'after-broadcast',
  'before-move-completed',
  'after-move-completed',
] as const;

export const JOURNEYS = ['refund', 'sweep', 'withdrawal', 'settlement'] as const;
export type JourneyName = (typeof JOURNEYS)[number];
export const isJourney = (text: string): text is JourneyName => (JOURNEYS as readonly string[]).includes(text);

/** The points of one plan; after each of them the service is started again, and is killed at the next one while it recovers. */
export type Plan = readonly string[];

/** Points that a recovery comes by again, wherever up to there the process was killed before. */
const AGAIN: Plan = ['after-sign', 'after-broadcast', 'before-landed-event'];

/** Each point alone; for refunds each point and then one more while it recovers; and all of them in turn, for a single transfer. */
export function plansOf(journey: JourneyName, network: KilledNetwork): Plan[] {
  if (journey === 'refund') return [...alone(REFUND_POINTS), ...againAfter(REFUND_POINTS), REFUND_POINTS];
  // On Solana the treasury pays every fee, so a sweep needs no gas of its own.
  if (journey !== 'sweep' || network === 'solana') return [...alone(MOVE_POINTS), MOVE_POINTS];
  const sweepAfterTopUp = MOVE_POINTS.map((point) => `${point}@2`);
  return [...alone(['after-top-up-requested', ...MOVE_POINTS, ...sweepAfterTopUp]), ['after-top-up-requested', ...MOVE_POINTS, ...MOVE_POINTS]];
}

const alone = (points: Plan): Plan[] => points.map((point) => [point]);

/** A recovery starts at what is durable, so only points that lie behind the first one are reached again. */
const againAfter = (points: Plan): Plan[] =>
  points.flatMap((first, index) => {
    const next = AGAIN.find((point) => points.indexOf(point) > index);
    return next === undefined ? [] : [[first, next]];
  });
