import type { MoveKind } from '../../../domain/events/treasury-move-events.ts';
import { base32 } from '../../../domain/ids.ts';
import type { Random } from '../../../ports/random.ts';

const PREFIX = {
  ...{ sweep: 'swp', gas_top_up: 'top', withdrawal: 'wdr', settlement: 'stl', return: 'rtn', native_return: 'nrt', nonce_account: 'nac' },
} as const satisfies Record<MoveKind, string>;
const ID_BYTES = 13;

/** A prefix that names the kind, and 104 random bits in base32. */
export const newMoveId = (kind: MoveKind, random: Random): string => `${PREFIX[kind]}_${base32(random.bytes(ID_BYTES)).slice(0, 20)}`;

/** Ids of moves that operators approve or give up. */
export const isOutwardMoveId = (text: string): boolean => /^(wdr|stl|rtn|nrt)_[a-z2-7]{20}$/.test(text);
