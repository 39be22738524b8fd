import { hash } from 'node:crypto';
import { SystemInstruction, SystemProgram, Transaction } from '@solana/web3.js';
import type { TokenDraft } from '../../../src/domain/events/transaction-draft.ts';
import { base58, fromBase58 } from '../../../src/chain-formats/base58.ts';
import { NONCE_ACCOUNTS, nonceAccountOf } from '../../../src/chain-formats/solana-nonce.ts';
import { associatedTokenAccount, TOKEN_PROGRAM } from '../../../src/chain-formats/spl-token.ts';
import { nonceAccount, tokenAccountData } from '../solana-node.ts';
import {
  deposits,
  MODEL_WALLET,
  receiverIn,
  serveTwo,
  STRANGERS,
  type Landed,
  type ModelChain,
  type Paid,
} from './model-chain.ts';

const TOKEN = MODEL_WALLET.collectionAddress('solana', 99);
const TREASURY = MODEL_WALLET.treasury.solana;
const TRANSFER_CHECKED = 12;
/** Those that are made. */
const ACCOUNTS = 4;
/** Blockhashes that a transaction may name. */
const RECENT = 3;

/**
 * Solana: a transaction lands by a recent blockhash or by the value of the nonce account that it advances first, which
 * it uses up even when it fails.
 */
export async function modelSolana(): Promise<ModelChain> {
  const plain = deposits('solana', 'solana', (index) => base58(Buffer.alloc(64, index + 1)));
  const txHash = base58(Buffer.alloc(64, 9));
  const handedOver: Paid = {
    ...plain[0]!,
    ...{ payer: STRANGERS.collectionAddress('solana', 2), handedTo: STRANGERS.collectionAddress('solana', 3) },
    proof: { ...plain[0]!.proof, txHash, depositKey: `solana:${txHash}:0` },
  };
  const paid = [...plain, handedOver];
  const holders = [...paid.map(({ payer }) => payer), handedOver.handedTo!];
  const shown = [...paid];
  const landed: Landed[] = [];
  const statuses = new Map<string, { err: unknown }>();
  const blockhashes: string[] = [];
  const values = new Map<string, string>();
  const everStored: string[] = [];
  let count = 0;
  const fresh = (): string => base58(hash('sha256', `value ${(count += 1)}`, 'buffer'));
  const store = (account: string): void => {
    values.set(account, fresh());
    everStored.push(values.get(account)!);
  };
  const mine = (): void => {
    blockhashes.push(fresh());
    blockhashes.splice(0, blockhashes.length - RECENT);
  };
  for (let index = 0; index < ACCOUNTS; index += 1) store(nonceAccountOf(TREASURY, index));
  mine();
  const transactionOf = ({ proof, payer, handedTo, units }: Paid): object => {
    const of = (owner: string, accountIndex: number, amount: bigint): object => {
      return { accountIndex, mint: TOKEN, owner, programId: TOKEN_PROGRAM, uiTokenAmount: { amount: String(amount) } };
    };
    return {
      transaction: {
        signatures: [proof.txHash],
        message: {
          accountKeys: [associatedTokenAccount(proof.toAddress, TOKEN), associatedTokenAccount(payer, TOKEN)],
          header: { numRequiredSignatures: 1 },
        },
      },
      meta: {
        ...{ err: null, fee: 5_000, preBalances: [0, 0], postBalances: [0, 0] },
        preTokenBalances: [of(payer, 1, units)],
        postTokenBalances: [of(handedTo ?? payer, 1, 0n), of(proof.toAddress, 0, units)],
      },
    };
  };
  const resultOf = (method: string, [asked]: [string | string[]]): unknown => {
    if (method === 'getTransaction') {
      if (chain.second === 'without history') return null;
      const deposit = shown.findLast(({ proof }) => proof.txHash === asked);
      return deposit ? transactionOf(deposit) : null;
    }
    if (method === 'getSignatureStatuses')
      return {
        value: (asked as string[]).map((name) =>
          statuses.has(name) && chain.second !== 'without history'
            ? { ...statuses.get(name), confirmationStatus: 'finalized' }
            : null,
        ),
      };
    const holder = holders.find((owner) => associatedTokenAccount(owner, TOKEN) === asked);
    if (holder !== undefined) {
      const { data } = tokenAccountData(fromBase58(TOKEN)!, fromBase58(holder)!, 0n);
      return { value: { owner: TOKEN_PROGRAM, data: [data, 'base64'] } };
    }
    const nonce = values.get(asked as string);
    const account = nonce === undefined ? null : nonceAccount(TREASURY, nonce);
    return { value: account && { owner: account.owner, data: [account.data, 'base64'] } };
  };
  const server = await serveTwo(
    (_, { id, method, params }: { id: number; method: string; params: [string] }, provider) =>
      provider === 1 && chain.second === 'silent' ? null : { jsonrpc: '2.0', id, result: resultOf(method, params) },
  );
  /** True when the transaction may be included; its nonce is used then, whatever comes of it. */
  const takes = (transaction: Transaction): boolean => {
    const [first] = transaction.instructions;
    const advances =
      first !== undefined &&
      first.programId.equals(SystemProgram.programId) &&
      SystemInstruction.decodeInstructionType(first) === 'AdvanceNonceAccount';
    const account = advances ? first.keys[0]!.pubkey.toBase58() : null;
    const byNonce = account !== null && values.get(account) === transaction.recentBlockhash;
    if (!byNonce && !blockhashes.includes(transaction.recentBlockhash!)) return false;
    if (account !== null && values.has(account)) store(account);
    return true;
  };
  const chain: ModelChain = {
    network: 'solana',
    chainId: 'model',
    token: TOKEN,
    paid,
    others: [handedOver.handedTo!],
    landed,
    failsNext: false,
    second: 'sound',
    urls: server.urls,
    draft: (tokenUnits, pick, sequence) => {
      const nonceIndex = sequence % ACCOUNTS;
      const nonce = values.get(nonceAccountOf(TREASURY, nonceIndex))!;
      return {
        kind: 'solana',
        tokenAddress: TOKEN,
        tokenUnits: String(tokenUnits),
        decimals: 6,
        nonceIndex,
        nonce,
        computeUnitPrice: String(1_000 + pick),
      };
    },
    lie: (tokenUnits, pick) => {
      const nonce = [blockhashes.at(-1)!, blockhashes[0]!, everStored[pick % everStored.length]!, fresh()][pick % 4]!;
      const draft = chain.draft(tokenUnits, pick, pick % ACCOUNTS);
      // An account of anybody, with a nonce that is right.
      if (pick % 3 === 0)
        return { ...draft, toAccount: associatedTokenAccount(holders[pick % holders.length]!, TOKEN) } as TokenDraft;
      return { ...draft, nonceIndex: pick % NONCE_ACCOUNTS, nonce } as TokenDraft;
    },
    submit: (signedBytes) => {
      const transaction = Transaction.from(Buffer.from(signedBytes, 'base64'));
      const name = base58(transaction.signature!);
      if (statuses.has(name) || !transaction.verifySignatures() || !takes(transaction)) return;
      const err = chain.failsNext ? { InstructionError: [3, { Custom: 1 }] } : null;
      chain.failsNext = false;
      statuses.set(name, { err });
      for (const { programId, data, keys } of err === null ? transaction.instructions : []) {
        if (programId.toBase58() !== TOKEN_PROGRAM || data[0] !== TRANSFER_CHECKED) continue;
        const toAddress = receiverIn(
          chain,
          (address) => associatedTokenAccount(address, TOKEN) === keys[2]!.pubkey.toBase58(),
        );
        landed.push({ toAddress, units: data.readBigUInt64LE(1), signedBytes });
      }
    },
    show: (transfer) => void shown.push(transfer),
    hide: ({ proof }) =>
      void shown.splice(0, shown.length, ...shown.filter((one) => one.proof.txHash !== proof.txHash)),
    advance: (pick) => {
      for (let block = 0; block <= pick % 4; block += 1) mine();
    },
    close: () => server.close(),
  };
  return chain;
}
