import { z } from 'zod';
import type { Token } from '../../domain/networks/networks.ts';
import { OUTCOMES } from '../../domain/networks/outcomes.ts';
import { ProviderFault } from '../../ports/chain/rpc-pool.ts';
import { accountOf, toBase58Address } from './address.ts';
import { must } from '../../domain/values/must.ts';

/** keccak256("Transfer(address,address,uint256)"), as TRON logs write it. */
export const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const WORD = /^(?:0x)?[0-9a-f]{64}$/i;

const tronLog = z.object({
  address: z.string(),
  topics: z.array(z.string()).nullish(),
  data: z.string().nullish(),
});
type TronLog = z.infer<typeof tronLog>;

/**
 * The fields used of the `gettransactioninfobyid` and `gettransactioninfobyblocknum` responses for one transaction
 * (developers.tron.network). Absent fields have protocol buffer defaults; the receipt itself is always there.
 */
export const tronTransactionInfo = z.object({
  id: z.string(),
  blockNumber: z.number(),
  blockTimeStamp: z.number(),
  fee: z.number().nullish(),
  result: z.string().nullish(),
  receipt: z.object({ result: z.string().nullish() }),
  log: z.array(tronLog).nullish(),
});
export type TronTransactionInfo = z.infer<typeof tronTransactionInfo>;

/** Fields of the contracts that are read. Other contracts may use the same names for other things. */
const contractText = z.string().optional().catch(undefined);
const contractNumber = z.number().optional().catch(undefined);
const tronContract = z.object({
  type: z.string().nullish(),
  parameter: z
    .object({
      value: z
        .object({
          owner_address: contractText,
          to_address: contractText,
          contract_address: contractText,
          data: contractText,
          amount: contractNumber,
          call_value: contractNumber,
        })
        .nullish(),
    })
    .nullish(),
});

/** The fields used of a transaction that a block lists. */
export const tronListedTransaction = z.object({
  txID: z.string(),
  ret: z.array(z.object({ contractRet: z.string().nullish() })).nullish(),
  raw_data: z.object({ contract: z.array(tronContract).nullish() }).nullish(),
});
export type TronListedTransaction = z.infer<typeof tronListedTransaction>;

/** A transfer log of one transaction. Addresses are base58, whatever notation the node used. */
export interface TransferLog {
  readonly tokenAddress: string;
  readonly fromAddress: string;
  readonly toAddress: string;
  readonly tokenUnits: bigint;
  /** Position among all logs of the transaction, including those of other contracts. */
  readonly logIndex: number;
}

/**
 * True if the contract ran to its end. Calldata and the contract's return value are not conclusive (USDT returns false
 * on success).
 */
export const succeeded = (info: TronTransactionInfo): boolean => OUTCOMES.tron(info) === 'moved';

/**
 * The successful transfers in log order: only logs of `tokens` with the three topics of a real Transfer. `isWanted`
 * receives the raw receiver, before any address is encoded.
 */
export function readTransfers(
  info: TronTransactionInfo,
  tokens: TokenAccounts,
  isWanted: (toAddress: string) => boolean,
): TransferLog[] {
  if (!succeeded(info)) {
    // Only what ran to its end has logs.
    if ((info.log ?? []).length > 0 && info.receipt.result === undefined && info.result !== 'FAILED')
      throw new ProviderFault('inconsistent', `answered a receipt of ${info.id} without its result`);
    return [];
  }
  const found: TransferLog[] = [];
  for (const [logIndex, log] of (info.log ?? []).entries()) {
    const tokenAddress = tokens.tokenOf(log.address)?.address;
    if (tokenAddress === undefined) continue;
    const transfer = decodeTransfer(log, info.id);
    if (transfer === null) continue;
    const toAddress = toBase58Address(transfer.toAccount);
    if (!isWanted(toAddress)) continue;
    found.push({
      tokenAddress,
      fromAddress: toBase58Address(transfer.fromAccount),
      toAddress,
      tokenUnits: transfer.units,
      logIndex,
    });
  }
  return found;
}

/** `transfer(address,uint256)` */
const TRANSFER_CALL = /^(?:0x)?a9059cbb0{24}([0-9a-f]{40})([0-9a-f]{64})/i;

/**
 * The transfer that a successful transaction requested directly from a token; null for any other, such as one through
 * another contract.
 */
export function askedTransfer(
  transaction: TronListedTransaction,
  tokens: TokenAccounts,
): { readonly toAddress: string } | null {
  const call = transaction.raw_data?.contract?.[0];
  const value = call?.parameter?.value;
  if (
    call?.type !== 'TriggerSmartContract' ||
    transaction.ret?.[0]?.contractRet !== 'SUCCESS' ||
    !tokens.tokenOf(value?.contract_address)
  )
    return null;
  const asked = TRANSFER_CALL.exec(value?.data ?? '');
  return asked && !/^0+$/.test(must(asked[2])) ? { toAddress: toBase58Address(must(asked[1]).toLowerCase()) } : null;
}

/** Null for another event of the token. Throws `ProviderFault` for a transfer that cannot be read. */
function decodeTransfer(
  log: TronLog,
  txHash: string,
): { fromAccount: string; toAccount: string; units: bigint } | null {
  const topics = log.topics ?? [];
  const [signature, from, to] = topics.map((topic) => topic.slice(-64).toLowerCase());
  if (signature !== TRANSFER_TOPIC) return null;
  if (topics.length !== 3 || !topics.every((topic) => WORD.test(topic)) || !WORD.test(log.data ?? ''))
    throw new ProviderFault('inconsistent', `answered a transfer in ${txHash} that cannot be read`);
  return {
    fromAccount: must(from).slice(24),
    toAccount: must(to).slice(24),
    units: BigInt(`0x${must(log.data).slice(-64)}`),
  };
}

/** Finds an allow-listed token by the address of a log, in any notation of a node. */
export interface TokenAccounts {
  /** Their 20 bytes in hex. */
  readonly accounts: readonly string[];
  /** Null if it is not one of ours. */
  tokenOf(logAddress: string | undefined): Token | null;
}

export function tokenAccounts(tokens: readonly Token[]): TokenAccounts {
  const byAccount = new Map(
    tokens.map((token) => {
      const account = accountOf(token.address);
      if (account === null) throw new Error(`not a TRON address: ${token.address}`);
      return [account, token];
    }),
  );
  return {
    accounts: [...byAccount.keys()],
    tokenOf(logAddress) {
      const account = logAddress === undefined ? null : accountOf(logAddress);
      return account === null ? null : (byAccount.get(account) ?? null);
    },
  };
}
