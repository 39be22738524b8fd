import type { ChainBlock, Included } from './block.ts';
import { TOKEN_PROGRAM } from './solana-addresses.ts';
import type { SolanaSigned } from './solana-message.ts';
import { lamportsKey, tokensKey, type State } from './solana-programs.ts';

/** What accounts of a transaction held at a moment, in the order of its keys. */
export interface Held {
  readonly lamports: readonly number[];
  readonly tokens: readonly object[];
}

export interface SolanaReceipt {
  readonly err: unknown;
  readonly fee: bigint;
  readonly keys: readonly string[];
  readonly signers: number;
  readonly before: Held;
  readonly after: Held;
}

export type SolanaBlock = ChainBlock<SolanaSigned, SolanaReceipt>;
export type SolanaIncluded = Included<SolanaSigned, SolanaReceipt>;

/** As `getTransaction` tells it. */
export function heldBy(keys: readonly string[], state: Pick<State, 'get' | 'tokenAccountAt'>): Held {
  const tokens = keys.flatMap((key, accountIndex) => {
    const account = state.get(lamportsKey(key)) > 0n ? state.tokenAccountAt(key) : null;
    if (!account) return [];
    const uiTokenAmount = { amount: state.get(tokensKey(account)).toString(), decimals: 6 };
    return [{ accountIndex, ...account, programId: TOKEN_PROGRAM, uiTokenAmount }];
  });
  return { lamports: keys.map((key) => Number(state.get(lamportsKey(key)))), tokens };
}

/** As a block shows it with `accounts` as its details. */
export function renderListed(included: SolanaIncluded, block: SolanaBlock): object {
  const { meta, version, transaction } = render(included, block);
  const { accountKeys: keys, header } = transaction.message;
  const named = keys.map((pubkey, index) => ({ pubkey, signer: index < header.numRequiredSignatures }));
  return { meta, version, transaction: { signatures: transaction.signatures, accountKeys: named } };
}

/** `getTransaction` in `json`. */
export function render({ transaction, receipt }: SolanaIncluded, { number, timeSec }: SolanaBlock) {
  const { err, fee, keys, signers, before, after } = receipt;
  const header = { numRequiredSignatures: signers, numReadonlySignedAccounts: 0, numReadonlyUnsignedAccounts: 0 };
  return {
    ...{ slot: number, blockTime: timeSec, version: 'legacy' },
    meta: {
      ...{ err, fee: Number(fee), preBalances: before.lamports, postBalances: after.lamports },
      ...{ preTokenBalances: before.tokens, postTokenBalances: after.tokens },
      ...{ innerInstructions: null, logMessages: null, loadedAddresses: { writable: [], readonly: [] } },
    },
    transaction: { signatures: [transaction.txHash], message: { accountKeys: keys, header } },
  };
}
