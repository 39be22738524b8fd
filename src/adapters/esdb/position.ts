import type { Position } from '../../ports/event-log/event-store.ts';
import { must } from '../../domain/values/must.ts';

/**
 * A position in EventStoreDB's log. Both halves are needed, because a commit position alone does not identify a record.
 */
export interface LogPosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

/** Unset 64-bit positions are encoded as the largest numbers. */
const UNSET_FROM = 2n ** 63n;

export function isSet(position: LogPosition | undefined): position is LogPosition {
  return position !== undefined && position.commit < UNSET_FROM && position.prepare < UNSET_FROM;
}

export const positionText = ({ commit, prepare }: LogPosition): Position => `C:${commit}/P:${prepare}`;

/** Throws `RangeError` for a position of another kind of store. */
export function parsePosition(text: Position): LogPosition {
  const parts = /^C:(\d{1,19})\/P:(\d{1,19})$/.exec(text);
  if (!parts) throw new RangeError(`${JSON.stringify(text)} is not a position of an EventStoreDB log`);
  return { commit: BigInt(must(parts[1])), prepare: BigInt(must(parts[2])) };
}

export const isAfter = (position: LogPosition, other: LogPosition): boolean =>
  position.commit === other.commit ? position.prepare > other.prepare : position.commit > other.commit;

/** Null precedes every position. */
export function later(one: LogPosition | null, other: LogPosition | null): LogPosition | null {
  if (!one || !other) return one ?? other;
  return isAfter(one, other) ? one : other;
}
