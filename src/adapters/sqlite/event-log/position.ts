import type { Position } from '../../../ports/event-log/event-store.ts';

const POSITION = /^[1-9]\d{0,15}$/;

/** The number in one of this store's positions; 0 for the beginning. Throws for a position of another store. */
export function parsePosition(position: Position | null): number {
  if (position === null) return 0;
  if (!POSITION.test(position)) throw new RangeError(`not a position of this event store: ${position.slice(0, 64)}`);
  return Number(position);
}

/** Null for the beginning. */
export const toPosition = (position: number): Position | null => (position === 0 ? null : String(position));
