import type { MoveKind } from '../../../domain/events/treasury-move-events.ts';
import { base32 } from '../../../domain/values/ids.ts';
import type { Random } from '../../../ports/random.ts';

const PREFIX = {
  sweep: 'swp',
  gas_top_up: 'top',
  withdrawal: 'wdr',
  settlement: 'stl',
  return: 'rtn',
  native_return: 'nrt',
  nonce_account: 'nac',
} as const satisfies Record<MoveKind, string>;
const OUTWARD = ['withdrawal', 'settlement', 'return', 'native_return'] as const satisfies readonly MoveKind[];
const ID_BYTES = 13;

/** A prefix for the kind, and 104 random bits in base32. */
export const newMoveId = (kind: MoveKind, random: Random): string =>
  `${PREFIX[kind]}_${base32(random.bytes(ID_BYTES)).slice(0, 20)}`;

const isIdOf = (kinds: readonly MoveKind[], text: string): boolean =>
  kinds.some((kind) => text.startsWith(`${PREFIX[kind]}_`));

/** Whether the text starts like the id of a move that operators may give up. False for ids of refunds. */
export const isMoveId = (text: string): boolean => isIdOf(['sweep', 'gas_top_up', ...OUTWARD], text);

/** Ids of moves that operators approve. */
export const isOutwardMoveId = (text: string): boolean => isIdOf(OUTWARD, text) && /^\w{3}_[a-z2-7]{20}$/.test(text);
