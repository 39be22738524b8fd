import { hash } from 'node:crypto';
import type { Position, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { Row } from '../../ports/read-model/read-model.ts';

/** A digest of what a projection made of the log up to an event; equal for equal results, regardless of batches. */
export type DigestMark = {
  readonly position: Position;
  /** SHA-256 (hex) over the changes of each event so far. */
  readonly digest: string;
};

type ChainRow = { readonly digest: string; readonly marks: readonly DigestMark[] };

/** The row of a projection's chain in its table. */
export const CHAIN_KEY = 'chain';

/** One event in this many is marked, selected by its hash, so that all processes mark the same ones. */
const MARKED_IN = 64;
export const isMarked = ({ hash: ofEvent }: Pick<RecordedEvent, 'hash'>): boolean =>
  parseInt(ofEvent.slice(-2), 16) % MARKED_IN === 0;

/** Number of marks kept, which limits how far apart two processes can be and still be compared. */
const MARKS = 16;

/** The digest of a projection, continued from event to event and stored with its rows. */
export class DigestChain {
  #digest: string;
  #marks: DigestMark[];

  constructor(row: Row | null) {
    const { digest = '', marks = [] } = (row ?? {}) as Partial<ChainRow>;
    this.#digest = digest;
    this.#marks = [...marks];
  }

  /** `changed`: the changes of the event, or that it was parked. */
  take(event: RecordedEvent, changed: readonly object[] | 'parked'): void {
    const { id, position } = event;
    this.#digest = hash('sha256', `${this.#digest}${id}${JSON.stringify(changed)}`, 'hex');
    if (isMarked(event)) this.#marks = [...this.#marks.slice(1 - MARKS), { position, digest: this.#digest }];
  }

  get row(): Row {
    return { digest: this.#digest, marks: this.#marks };
  }
}

export const marksOf = (row: Row | null): readonly DigestMark[] => (row as ChainRow | null)?.marks ?? [];
