import type { Family } from '../../src/adapters/rpc/dialects.ts';
import { base58, fromBase58 } from '../../src/chain-formats/base58.ts';
import { associatedTokenAccount } from '../../src/chain-formats/spl-token.ts';
import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import { accountOf, tronTokenBytes } from '../../src/signer/chains/tron-bytes.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { nonceAccount, TOKEN_PROGRAM, tokenAccountData } from './solana-node.ts';
import { computed } from './tron-node.ts';

/*
 * What an honest node of each family says of one transaction that is at once a deposit of 7 USDT, a transfer of native
 * coin, and a payout in the signer's journal.
 */

/** Of the transaction; `forgotten`: final, and found in its block alone. */
export const STATES = ['final', 'fresh', 'failed', 'forgotten', 'absent'] as const;
export type State = (typeof STATES)[number];
export type Asked = {
  readonly path: string;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly body: Body;
};
export type Body = Readonly<Record<string, string>>;

export interface World {
  readonly family: Family;
  readonly network: Network;
  readonly token: string;
  readonly txHash: string;
  readonly logIndex: number;
  readonly draft: TransactionDraft;
  readonly signedBytes: string;
  readonly ours: string;
  readonly treasury: string;
  readonly answer: (state: State, asked: Asked) => unknown;
}

const wallet = new Wallet('test test test test test test test test test test test junk');
const word = (hex: string): string => hex.toLowerCase().padStart(64, '0');
const numeral = (value: number | bigint): string => word(value.toString(16));
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

export function evmWorld(): World {
  const [ours, payer, token] = [3, 4, 99].map((index) => wallet.collectionAddress('evm', index)) as [
    string,
    string,
    string,
  ];
  const [txHash, blockHash] = [`0x${'a'.repeat(64)}`, `0x${'b'.repeat(64)}`];
  const topics = [TRANSFER, word(payer.slice(2)), word(ours.slice(2))].map((topic) => `0x${topic}`);
  const logs = [{ address: token, topics, data: `0x${numeral(7_000_000)}`, logIndex: '0x0' }];
  const receipt = (state: State) => ({
    ...{ transactionHash: txHash, blockNumber: '0x10', blockHash, logs },
    status: state === 'failed' ? '0x0' : '0x1',
  });
  const answers: Record<string, (state: State, params: readonly unknown[]) => unknown> = {
    eth_getTransactionReceipt: (state) => (['absent', 'forgotten'].includes(state) ? null : receipt(state)),
    eth_getBlockReceipts: (state) => (state === 'absent' ? [] : [receipt(state)]),
    eth_getTransactionByHash: () => ({ hash: txHash, blockHash, from: payer, to: ours, value: '0x5' }),
    eth_getBlockByNumber: (state, [at]) => {
      const tags = state === 'fresh' ? { finalized: '0x8', latest: '0x11' } : { finalized: '0x18', latest: '0x20' };
      const number = tags[at as 'latest'] ?? (at as string);
      return { number, hash: blockHash, baseFeePerGas: '0x3b9aca00' };
    },
    eth_getTransactionCount: (state) => (state === 'absent' ? '0x0' : '0x1'),
    eth_getBalance: () => '0x5',
    eth_call: () => `0x${numeral(5_000_000)}`,
    eth_estimateGas: () => '0xd9cb',
    eth_maxPriorityFeePerGas: () => '0x3b9aca00',
  };
  const fees = { gasLimit: '90000', maxFeePerGas: '1000', maxPriorityFeePerGas: '1000' };
  return {
    ...{ family: 'evm', network: 'ethereum', token, txHash, logIndex: 0, ours, treasury: wallet.treasury.evm },
    draft: { kind: 'evm', chainId: '1', nonce: 0, tokenAddress: token, tokenUnits: '1', ...fees },
    signedBytes: '0x',
    answer: (state, { method, params }) => answers[method]!(state, params),
  };
}

export function tronWorld(): World {
  const [ours, payer, token] = [3, 4, 99].map((index) => wallet.collectionAddress('tron', index)) as [
    string,
    string,
    string,
  ];
  const hexOf = (address: string): string => accountOf(address).toString('hex');
  const refBlockHash = '0011223344556677';
  const draft = {
    kind: 'tron',
    ...{ tokenAddress: token, tokenUnits: '1', feeLimit: 1, refBlockBytes: '0001', refBlockHash },
    ...{ timestampMs: 1, expirationMs: 90_000 },
  } as const;
  const { rawHex, txId } = tronTokenBytes(draft, wallet.treasury.tron, ours);
  const block = (number: number, state: State) => {
    const isIn = number === 4 && state !== 'absent';
    const raw = { number, timestamp: number * 20_000, txTrieRoot: (isIn ? '1' : '0').repeat(64) };
    return {
      blockID: `${number.toString(16).padStart(16, '0')}${refBlockHash}`.padEnd(64, '0'),
      block_header: { raw_data: raw },
      ...(isIn && { transactions: [{ txID: txId }] }),
    };
  };
  const info = (state: State) => ({
    ...{ id: txId, blockNumber: 4, contractResult: [''], contract_address: hexOf(token) },
    receipt: { energy_usage_total: 13_201, net_usage: 345, result: state === 'failed' ? 'REVERT' : 'SUCCESS' },
    ...(state === 'failed' && { result: 'FAILED' }),
    log: [
      {
        address: hexOf(token).slice(2),
        topics: [TRANSFER, word(hexOf(payer).slice(2)), word(hexOf(ours).slice(2))],
        data: numeral(7_000_000),
      },
    ],
  });
  const value = { owner_address: hexOf(payer), to_address: hexOf(ours), amount: 5 };
  const transaction = (state: State) => ({
    ...{ txID: txId, ret: [{ contractRet: state === 'failed' ? 'REVERT' : 'SUCCESS' }] },
    raw_data: { contract: [{ parameter: { value }, type: 'TransferContract' }] },
  });
  const isShown = (state: State, path: string): boolean =>
    !['absent', 'forgotten'].includes(state) && !(state === 'fresh' && path.startsWith('/walletsolidity'));
  const answers: Record<string, (state: State, asked: Asked) => unknown> = {
    getnowblock: (state) => block(state === 'fresh' ? 3 : 8, state),
    getblockbynum: (state, { body }) => block(Number(body['num']), state),
    gettransactioninfobyid: (state, { path }) => (isShown(state, path) ? info(state) : {}),
    gettransactionbyid: (state, { path }) => (isShown(state, path) ? transaction(state) : {}),
    getchainparameters: () => ({ chainParameter: [{ key: 'getEnergyFee', value: 420 }] }),
    getaccount: (_, { body }) => ({ address: body['address'], balance: 5 }),
    triggerconstantcontract: (_, { body }) =>
      body['function_selector'] === 'balanceOf(address)'
        ? computed(5_000_000)
        : { ...computed(1), energy_used: 13_201 },
  };
  return {
    ...{
      family: 'tron',
      network: 'tron',
      token,
      txHash: txId,
      logIndex: 0,
      ours,
      treasury: wallet.treasury.tron,
      draft,
    },
    signedBytes: JSON.stringify({ raw_data_hex: rawHex }),
    answer: (state, asked) => answers[asked.path.split('/')[2]!]!(state, asked),
  };
}

export function solanaWorld(): World {
  const [ours, payer, token] = [3, 4, 99].map((index) => wallet.collectionAddress('solana', index)) as [
    string,
    string,
    string,
  ];
  const treasury = wallet.treasury.solana;
  const [txHash, nonce] = [base58(new Uint8Array(64).fill(5)), wallet.collectionAddress('solana', 9)];
  const balance = (accountIndex: number, owner: string, amount: string) => ({
    ...{ accountIndex, mint: token, owner, programId: TOKEN_PROGRAM, uiTokenAmount: { amount } },
  });
  const toAccount = associatedTokenAccount(ours, token);
  const keys = [payer, associatedTokenAccount(payer, token), toAccount, ours];
  const meta = (state: State) => ({
    ...{ err: state === 'failed' ? { InstructionError: [0, 'Custom'] } : null, fee: 5_000 },
    ...{
      preBalances: [99_000, 1, 1, 0],
      postBalances: [93_000, 1, 1, 1_000],
      loadedAddresses: { writable: [], readonly: [] },
    },
    preTokenBalances: [balance(1, payer, '9000000'), balance(2, ours, '1')],
    postTokenBalances: [balance(1, payer, '2000000'), balance(2, ours, '7000001')],
  });
  const isShown = (state: State, params: readonly unknown[]): boolean =>
    !['absent', 'forgotten'].includes(state) &&
    !(state === 'fresh' && (params[1] as { commitment?: string }).commitment === 'finalized');
  const listed = keys.map((pubkey, index) => ({ pubkey, signer: index === 0, writable: true }));
  const account = (state: State, address: unknown) => {
    const owner = fromBase58(state === 'absent' ? payer : ours)!;
    const { data, owner: program = TOKEN_PROGRAM } =
      address === toAccount
        ? { ...tokenAccountData(fromBase58(token)!, owner, 5n), owner: undefined }
        : nonceAccount(treasury, state === 'absent' ? payer : nonce);
    return { data: [data, 'base64'], owner: program };
  };
  const message = { accountKeys: keys, header: { numRequiredSignatures: 1 } };
  const answers: Record<string, (state: State, params: readonly unknown[]) => unknown> = {
    getTransaction: (state, params) =>
      isShown(state, params) ? { transaction: { signatures: [txHash], message }, meta: meta(state) } : null,
    getBlock: (state) => ({
      transactions:
        state === 'absent' ? [] : [{ meta: meta(state), transaction: { signatures: [txHash], accountKeys: listed } }],
    }),
    getFirstAvailableBlock: () => 0,
    getSignatureStatuses: (state) => ({
      value: [
        ['absent', 'forgotten'].includes(state)
          ? null
          : { err: meta(state).err, confirmationStatus: state === 'fresh' ? 'confirmed' : 'finalized' },
      ],
    }),
    getAccountInfo: (state, [address]) => ({ context: { slot: 9 }, value: account(state, address) }),
  };
  return {
    ...{ family: 'solana', network: 'solana', token, txHash, logIndex: 2, ours, treasury, signedBytes: '' },
    draft: {
      ...{ kind: 'solana', tokenAddress: token, tokenUnits: '1', decimals: 6, toAccount },
      ...{ nonceIndex: 0, nonce, computeUnitPrice: '1' },
    },
    answer: (state, { method, params }) => answers[method]!(state, params),
  };
}
