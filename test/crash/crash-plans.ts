/*
 * Where the process is killed: every point of each way that money goes out, and the orders in which they are killed one
 * after the other.
 */

export const NETWORKS = ['ethereum', 'bsc', 'tron', 'solana'] as const;
export type KilledNetwork = (typeof NETWORKS)[number];
export const isKilledNetwork = (text: string): text is KilledNetwork => (NETWORKS as readonly string[]).includes(text);

/** In the order a payout comes by. */
const REFUND_POINTS = [
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
const MOVE_POINTS = [
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

/** What comes before the move that pays a unmatched transfer back. */
const INBOX_POINTS = ['inbox-after-set-aside', 'inbox-after-return-request'] as const;

export const JOURNEYS = ['refund', 'sweep', 'withdrawal', 'settlement', 'return'] as const;
export type JourneyName = (typeof JOURNEYS)[number];
export const isJourney = (text: string): text is JourneyName => (JOURNEYS as readonly string[]).includes(text);

/**
 * The points of one plan; after each of them the service is started again, and is killed at the next one while it
 * recovers.
 */
export type Plan = readonly string[];

/** Points that a recovery from a kill at the very same point comes by again. */
const RECURRING = new Set<string>([
  ...['before-reserve', 'after-sign', 'before-landed-event'],
  ...['before-move-reserve', 'after-move-sign', 'before-move-completed'],
  ...['signer-before-journal', 'before-broadcast', 'inbox-after-set-aside'],
]);

/**
 * Each point alone, and all of them in turn, for a single transfer: every start but the first is then killed while it
 * recovers.
 */
export function plansOf(journey: JourneyName, network: KilledNetwork): Plan[] {
  switch (journey) {
    case 'refund':
      return [...alone(REFUND_POINTS), inTurn(REFUND_POINTS)];
    case 'sweep': {
      // On Solana the treasury pays every fee, so a sweep needs no gas of its own.
      if (network === 'solana') return [...alone(MOVE_POINTS), inTurn(MOVE_POINTS)];
      const sweepAfterTopUp = MOVE_POINTS.map((point) => `${point}@2`);
      return [
        ...alone(['after-top-up-requested', ...MOVE_POINTS, ...sweepAfterTopUp]),
        ['after-top-up-requested', ...MOVE_POINTS, ...MOVE_POINTS],
      ];
    }
    case 'withdrawal':
      return [...alone(MOVE_POINTS), inTurn(MOVE_POINTS)];
    case 'settlement':
      // A settlement goes a withdrawal's way; only what may be ordered differs.
      return [inTurn(MOVE_POINTS)];
    case 'return':
      return [...alone(INBOX_POINTS), inTurn([...INBOX_POINTS, ...MOVE_POINTS])];
  }
}

const alone = (points: Plan): Plan[] => points.map((point) => [point]);

const inTurn = (points: Plan): Plan => points.flatMap((point) => (RECURRING.has(point) ? [point, point] : [point]));
