import { assign, setup } from 'xstate';
import type { JournalPlace, PayoutDraft, PayoutSequenceReserved, TreasuryEvent } from '../src/domain/events/treasury-events.ts';

/*
 * The sequences of one treasury account on one network. At most one reservation is unsigned at a time; a nonce belongs to
 * one payout for ever, unless the signer refused it.
 */

export type TreasuryValue = 'idle' | 'signing';

export type Reservation = PayoutSequenceReserved['data'];

/** A payout whose bytes exist. */
export interface SequenceTaken {
  readonly sessionId: string;
  readonly refundId: string;
  readonly legId: string;
  readonly attempt: number;
  /** Null where the chain has no numbered sequence. */
  readonly nonce: number | null;
  readonly txHash: string;
  /** What a replacement must repeat. */
  readonly draft: PayoutDraft;
}

export interface TreasuryContext {
  /** The reservation whose bytes are not known yet. */
  readonly open: Reservation | null;
  /** The next free nonce; null before the first payout and on chains without nonces. */
  readonly nextNonce: number | null;
  /** Where the signer's journal stood when it signed last. */
  readonly journal: JournalPlace | null;
  /** The newest payouts, oldest first: as many as a chain may lose or hold in flight. */
  readonly recent: readonly SequenceTaken[];
}

export const initialTreasuryContext: TreasuryContext = { open: null, nextNonce: null, journal: null, recent: [] };

/** More than a mempool takes of one sender, and more than a local chain loses when it is killed. */
export const RECENT_KEPT = 256;

type Of<Type extends TreasuryEvent['type']> = Extract<TreasuryEvent, { type: Type }>['data'];
type Seen = { context: TreasuryContext; event: TreasuryEvent };

export const nonceOf = ({ draft }: Reservation): number | null => (draft.kind === 'evm' ? draft.nonce : null);

export const lastOfLeg = (context: TreasuryContext, legId: string): SequenceTaken | undefined =>
  context.recent.findLast((taken) => taken.legId === legId);

/** The next free nonce for a new payout, the payout's own nonce for a replacement. */
export function isLegalReservation(context: TreasuryContext, data: Reservation): boolean {
  const nonce = nonceOf(data);
  const last = lastOfLeg(context, data.legId);
  if (data.replaces === null) return last === undefined && data.attempt === 1 && (context.nextNonce === null || nonce === context.nextNonce);
  if (!last || data.attempt !== last.attempt + 1 || data.replaces.txHash !== last.txHash) return false;
  return nonce === last.nonce;
}

const isOpen = (context: TreasuryContext, data: { legId: string; attempt: number }): boolean =>
  context.open !== null && context.open.legId === data.legId && context.open.attempt === data.attempt;

function foldSigned(context: TreasuryContext, data: Of<'PayoutSequenceSigned'>): Partial<TreasuryContext> {
  const { sessionId, refundId, legId, attempt, draft } = context.open!;
  const nonce = nonceOf(context.open!);
  const taken: SequenceTaken = { sessionId, refundId, legId, attempt, nonce, txHash: data.txHash, draft };
  const nextNonce = nonce === null ? null : Math.max(nonce + 1, context.nextNonce ?? 0);
  return { open: null, nextNonce, journal: data.journal, recent: [...context.recent, taken].slice(-RECENT_KEPT) };
}

export const treasuryMachine = setup({
  types: { context: {} as TreasuryContext, events: {} as TreasuryEvent },
  guards: {
    isLegalReservation: ({ context, event }: Seen) => isLegalReservation(context, event.data as Reservation),
    isOpen: ({ context, event }: Seen) => isOpen(context, event.data),
    isOpenAndNext: ({ context, event }: Seen) =>
      isOpen(context, event.data) && (event.data as Of<'PayoutSequenceSigned'>).journal.seq > (context.journal?.seq ?? 0),
  },
  actions: {
    foldReserved: assign(({ event }) => ({ open: event.data as Reservation })),
    foldReleased: assign(() => ({ open: null })),
    foldSigned: assign(({ context, event }) => foldSigned(context, event.data as Of<'PayoutSequenceSigned'>)),
  },
}).createMachine({
  id: 'treasury',
  initial: 'idle',
  context: initialTreasuryContext,
  states: {
    idle: { on: { PayoutSequenceReserved: { guard: 'isLegalReservation', target: 'signing', actions: 'foldReserved' } } },
    signing: {
      on: {
        PayoutSequenceReleased: { guard: 'isOpen', target: 'idle', actions: 'foldReleased' },
        PayoutSequenceSigned: { guard: 'isOpenAndNext', target: 'idle', actions: 'foldSigned' },
      },
    },
  },
});
