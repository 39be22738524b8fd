import { Prng } from '../time/prng.ts';
import type { Movement } from './block.ts';
import {
  addressNamed,
  ASSOCIATED_TOKEN_PROGRAM,
  bytesOf,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
  tokenAccountOf,
} from './solana-addresses.ts';
import type { Instruction, Message } from './solana-message.ts';
import { SYSTEM, TOKEN, type TokenAccount } from './solana-programs.ts';

/** Pays the fee and the rent for somebody whose wallet or exchange does that. */
const SPONSOR = addressNamed('a sponsor');
/** Where money from outside comes from. */
const FUNDER = addressNamed('a funder');
/** Is given an account by somebody who has just paid from it. */
const HEIR = addressNamed('an heir');
const HANDED_OVER = 0.4;
const [SPONSORED, SPLIT, CHECKED, WITH_MEMO, OTHER_ACCOUNT] = [0.3, 0.15, 0.8, 0.3, 0.25];
const DECIMALS = 6;

export interface Payment extends Message {
  /** Token accounts that it takes money from. */
  readonly sources: readonly (readonly [address: string, account: TokenAccount])[];
  /** Whether these are given to somebody else afterwards, so that nobody is known to have paid. */
  readonly isHandedOver: boolean;
}

/**
 * A transfer as somebody's wallet draws it up, each in its own way: by whom the fee is paid, in how many instructions,
 * with a memo or without. `isOpen`: whether an account of the owner is there, as far as the wallet knows.
 */
export function paymentMessage(
  txHash: string,
  movements: readonly Movement[],
  isOpen: (owner: string, mint: string) => boolean,
): Payment {
  const chance = new Prng(txHash);
  const { kind, from: named } = movements[0]!;
  const from = kind === 'mint' ? FUNDER : named;
  const feePayer = kind !== 'mint' && chance.chance(SPONSORED) ? SPONSOR : from;
  const hasOther = chance.chance(OTHER_ACCOUNT);
  const isHandedOver = hasOther && kind !== 'mint' && new Prng(`${txHash} given away`).chance(HANDED_OVER);
  const otherOf = (mint: string): string =>
    addressNamed(`another account of ${from} ${mint}${isHandedOver ? ` given away in ${txHash}` : ''}`);
  const sourceOf = (mint: string): string => (hasOther ? otherOf(mint) : tokenAccountOf(from, mint));
  const instructions = movements.flatMap(({ asset, to, units }) =>
    asset === 'native'
      ? [lamportTransfer(from, to, units)]
      : [
          ...(isOpen(to, asset) && chance.chance(0.5) ? [] : [makingOf(to, asset, feePayer)]),
          ...partsOf(units, chance).map((part) =>
            tokenTransfer({ asset, from, to, units: part }, sourceOf(asset), chance),
          ),
        ],
  );
  if (chance.chance(WITH_MEMO)) instructions.push({ program: MEMO_PROGRAM, accounts: [], data: Buffer.from('thanks') });
  if (isHandedOver)
    for (const asset of new Set(movements.map((movement) => movement.asset)))
      if (asset !== 'native') instructions.push(handingOver(sourceOf(asset), from));
  const signers = [...new Set([feePayer, from])];
  const others = new Set(instructions.flatMap(({ accounts, program }) => [...accounts, program]));
  const keys = [...signers, ...[...others].filter((key) => !signers.includes(key))];
  const mints = new Set(movements.flatMap(({ asset }) => (asset === 'native' ? [] : [asset])));
  const sources = [...mints].map((mint) => [sourceOf(mint), { owner: from, mint }] as const);
  return { keys, signers: signers.length, instructions, sources, isHandedOver };
}

function partsOf(units: bigint, chance: Prng): bigint[] {
  return units > 1n && chance.chance(SPLIT) ? [units / 2n, units - units / 2n] : [units];
}

function lamportTransfer(from: string, to: string, lamports: bigint): Instruction {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(SYSTEM.transfer, 0);
  data.writeBigUInt64LE(lamports, 4);
  return { program: SYSTEM_PROGRAM, accounts: [from, to], data };
}

/** `SetAuthority` of the kind `AccountOwner`. */
const handingOver = (account: string, owner: string): Instruction => ({
  program: TOKEN_PROGRAM,
  accounts: [account, owner],
  data: Buffer.concat([Uint8Array.of(TOKEN.setAuthority, 2, 1), bytesOf(HEIR)]),
});

const makingOf = (owner: string, mint: string, rentPayer: string): Instruction => ({
  program: ASSOCIATED_TOKEN_PROGRAM,
  accounts: [rentPayer, tokenAccountOf(owner, mint), owner, mint, SYSTEM_PROGRAM, TOKEN_PROGRAM],
  data: Uint8Array.of(1),
});

function tokenTransfer({ asset, from, to, units }: Omit<Movement, 'kind'>, source: string, chance: Prng): Instruction {
  const target = tokenAccountOf(to, asset);
  const isChecked = chance.chance(CHECKED);
  const data = Buffer.alloc(isChecked ? 10 : 9);
  data.writeUInt8(isChecked ? TOKEN.transferChecked : TOKEN.transfer, 0);
  data.writeBigUInt64LE(units, 1);
  if (isChecked) data.writeUInt8(DECIMALS, 9);
  const accounts = isChecked ? [source, asset, target, from] : [source, target, from];
  return { program: TOKEN_PROGRAM, accounts, data };
}
