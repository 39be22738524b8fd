import { id } from 'ethers';
import { accountOf } from '../../src/adapters/tron/address.ts';

/* Looks at the chain itself, with code that shares nothing with the payouts: what has left an account, and to whom? */

const TRANSFER = id('Transfer(address,address,uint256)');
/** What a Solana node answers at most. */
const SIGNATURES = 1_000;

export interface Account {
  readonly network: string;
  readonly rpcUrl: string;
  readonly token: string;
  readonly from: string;
}

/** One successful transfer of the token; `to` in whatever form the chain's own answers have. */
export interface Outflow {
  readonly txHash: string;
  readonly to: string;
  readonly tokenUnits: bigint;
}

/** Transaction ids of every transfer from the account to the payer with exactly this amount. */
export async function transfersSeen({
  to,
  tokenUnits,
  ...account
}: Account & { readonly to: string; readonly tokenUnits: bigint }): Promise<string[]> {
  const seen = await outflowsSeen(account);
  return seen
    .filter((outflow) => outflow.tokenUnits === tokenUnits && isSameAccount(account.network, outflow.to, to))
    .map(({ txHash }) => txHash);
}

/** Whatever form each of the addresses has. */
export const isSameAccount = (network: string, one: string, other: string): boolean =>
  plainForm(network, one) === plainForm(network, other);

/** Every transfer of the token that ever left the account. */
export function outflowsSeen(account: Account): Promise<Outflow[]> {
  return account.network === 'tron'
    ? tronOutflows(account)
    : account.network === 'solana'
      ? solanaOutflows(account)
      : evmOutflows(account);
}

function plainForm(network: string, address: string): string {
  if (network === 'solana') return address;
  return network === 'tron' ? (accountOf(address) ?? address) : address.slice(-40).toLowerCase();
}

async function post<Answer>(url: string, body: unknown): Promise<Answer> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Answer;
}

async function evmOutflows({ rpcUrl, token, from }: Account): Promise<Outflow[]> {
  const topic = `0x${from.slice(2).toLowerCase().padStart(64, '0')}`;
  const filter = { address: token, topics: [TRANSFER, topic], fromBlock: '0x0', toBlock: 'latest' };
  const { result } = await post<{ result: { data: string; topics: string[]; transactionHash: string }[] }>(rpcUrl, {
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_getLogs',
    params: [filter],
  });
  return result.map(({ data, topics, transactionHash }) => ({
    txHash: transactionHash,
    to: topics[2]!,
    tokenUnits: BigInt(data),
  }));
}

interface TronBlockRange {
  readonly block?: readonly { readonly transactions?: readonly { readonly txID: string }[] }[];
}
interface TronInfo {
  readonly receipt?: { readonly result?: string };
  readonly log?: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string }[];
}

async function tronOutflows({ rpcUrl, token, from }: Account): Promise<Outflow[]> {
  const head = await post<{ block_header: { raw_data: { number?: number } } }>(`${rpcUrl}/wallet/getnowblock`, {});
  const last = head.block_header.raw_data.number ?? 0;
  const found: Outflow[] = [];
  for (let start = 0; start <= last; start += 100) {
    const { block = [] } = await post<TronBlockRange>(`${rpcUrl}/wallet/getblockbylimitnext`, {
      startNum: start,
      endNum: Math.min(last + 1, start + 100),
    });
    for (const { txID } of block.flatMap(({ transactions = [] }) => transactions)) {
      const info = await post<TronInfo>(`${rpcUrl}/wallet/gettransactioninfobyid`, { value: txID });
      if (info.receipt?.result !== 'SUCCESS') continue;
      const moved = (info.log ?? []).filter(
        ({ address, topics }) =>
          accountOf(address) === accountOf(token) &&
          topics[1]?.slice(24) === accountOf(from) &&
          `0x${topics[0]}` === TRANSFER,
      );
      found.push(
        ...moved.map(({ topics, data }) => ({
          txHash: txID,
          to: topics[2]!.slice(24),
          tokenUnits: BigInt(`0x${data}`),
        })),
      );
    }
  }
  return found;
}

interface ParsedTransaction {
  readonly meta: {
    readonly err: unknown;
    readonly preTokenBalances: readonly TokenBalance[];
    readonly postTokenBalances: readonly TokenBalance[];
  };
}
interface TokenBalance {
  readonly owner: string;
  readonly mint: string;
  readonly uiTokenAmount: { readonly amount: string };
}

async function solanaOutflows({ rpcUrl, token, from }: Account): Promise<Outflow[]> {
  const rpc = async <Result>(method: string, params: unknown[]): Promise<Result> =>
    (await post<{ result: Result }>(rpcUrl, { jsonrpc: '2.0', id: 1, method, params })).result;
  const signatures = await rpc<{ signature: string }[]>('getSignaturesForAddress', [from, { limit: SIGNATURES }]);
  if (signatures.length === SIGNATURES) throw new Error(`${from} has more transactions than one answer tells`);
  const found: Outflow[] = [];
  for (const { signature } of signatures) {
    const transaction = await rpc<ParsedTransaction | null>('getTransaction', [
      signature,
      { encoding: 'jsonParsed', maxSupportedTransactionVersion: 0 },
    ]);
    if (!transaction || transaction.meta.err) continue;
    const changes = changesByOwner(transaction, token);
    if ((changes.get(from) ?? 0n) >= 0n) continue;
    for (const [to, tokenUnits] of changes) if (tokenUnits > 0n) found.push({ txHash: signature, to, tokenUnits });
  }
  return found;
}

function changesByOwner({ meta }: ParsedTransaction, token: string): Map<string, bigint> {
  const changes = new Map<string, bigint>();
  const add = (balances: readonly TokenBalance[], sign: bigint): void => {
    for (const { owner, mint, uiTokenAmount } of balances)
      if (mint === token) changes.set(owner, (changes.get(owner) ?? 0n) + sign * BigInt(uiTokenAmount.amount));
  };
  add(meta.postTokenBalances, 1n);
  add(meta.preTokenBalances, -1n);
  return changes;
}
