import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { base58, fromBase58 } from '../../src/chain-formats/base58.ts';

export interface PlayedTransaction {
  readonly slot: number;
  readonly meta: { readonly err: unknown };
  readonly version?: unknown;
}

interface Request {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

type Reply =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }
  | { readonly status: number };

/** What a node knows of its chain. */
export interface SolanaNodeState {
  slot: number;
  finalizedSlot: number;
  firstKeptSlot: number;
  genesis: string;
  fork: string;
  /** Slots without a block. */
  skipped: Set<number>;
  /** By signature. */
  transactions: Map<string, PlayedTransaction>;
  /** By slot: what blocks list of transactions that are not found by their signatures any more. */
  blocks: Map<number, readonly (readonly [signature: string, PlayedTransaction])[]>;
  /** Signatures by account, newest first. */
  histories: Map<string, string[]>;
  /** Raw account data (base64) by address, under the token program unless told otherwise. */
  accounts: Map<string, { data: string; owner?: string }>;
  timeOf: (slot: number) => number;
}

/** A Solana RPC that plays recorded transactions back. */
export interface PlayedSolanaNode extends SolanaNodeState {
  readonly url: string;
  readonly requests: Request[];
  override: (request: Request) => Reply | undefined;
  close(): Promise<void>;
}

export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const MAINNET_GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
const CLOCK = 'SysvarC1ock11111111111111111111111111111111';

export const hashOfSlot = (slot: number, fork: string): string => `block-${slot}-${fork}`;

export async function playSolanaNode(slot: number, finalizedSlot = slot): Promise<PlayedSolanaNode> {
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Request;
      node.requests.push(request);
      const reply = node.override(request) ?? replyOf(node, request);
      const status = 'status' in reply ? reply.status : 200;
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: request.id, ...reply }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const node: PlayedSolanaNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    ...solanaNodeState(slot, finalizedSlot),
    override: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return node;
}

export const solanaNodeState = (slot: number, finalizedSlot: number): SolanaNodeState => ({
  slot,
  finalizedSlot,
  firstKeptSlot: 0,
  genesis: MAINNET_GENESIS,
  fork: '0',
  skipped: new Set(),
  ...{ transactions: new Map(), blocks: new Map() },
  histories: new Map(),
  ...{ accounts: new Map(), timeOf: (at) => 1_700_000_000 + Math.floor(at * 0.4) },
});

/** A mint with 6 decimals. */
export function mintAccount(decimals = 6): { data: string } {
  const data = Buffer.alloc(82);
  data[44] = decimals;
  return { data: data.toString('base64') };
}

/** An initialised nonce account, unless told otherwise. */
export function nonceAccount(
  authority: string,
  nonce: string,
  change: {
    readonly owner?: string;
    readonly version?: number;
    readonly state?: number;
    readonly authority?: string;
    readonly bytes?: number;
  } = {},
): { data: string; owner: string } {
  const data = Buffer.alloc(80);
  data.writeUInt32LE(change.version ?? 1, 0);
  data.writeUInt32LE(change.state ?? 1, 4);
  data.set(fromBase58(change.authority ?? authority)!, 8);
  data.set(fromBase58(nonce)!, 40);
  return {
    data: data.subarray(0, change.bytes ?? 80).toString('base64'),
    owner: change.owner ?? '11111111111111111111111111111111',
  };
}

export function tokenAccountData(
  mint: Uint8Array,
  owner: Uint8Array,
  units: bigint,
  isFrozen = false,
): { data: string } {
  const data = Buffer.alloc(165);
  data.set(mint, 0);
  data.set(owner, 32);
  data.writeBigUInt64LE(units, 64);
  data.writeUInt8(isFrozen ? 2 : 1, 108);
  return { data: data.toString('base64') };
}

const slotBefore = (node: SolanaNodeState, slot: number): number =>
  node.skipped.has(slot - 1) ? slotBefore(node, slot - 1) : slot - 1;

const error = (code: number, message: string): Reply => ({ error: { code, message } });

export function replyOf(node: SolanaNodeState, { method, params }: Pick<Request, 'method' | 'params'>): Reply {
  const config = (params.at(-1) ?? {}) as {
    commitment?: string;
    encoding?: string;
    minContextSlot?: number;
    until?: string;
    before?: string;
    limit?: number;
    maxSupportedTransactionVersion?: number;
    transactionDetails?: string;
  };
  const limit = config.commitment === 'finalized' || config.commitment === undefined ? node.finalizedSlot : node.slot;
  if (config.minContextSlot !== undefined && limit < config.minContextSlot)
    return error(-32016, 'Minimum context slot has not been reached');
  switch (method) {
    case 'getGenesisHash':
      return { result: node.genesis };
    case 'getSlot':
      return { result: limit };
    case 'getBlock': {
      const slot = params[0] as number;
      if (slot > limit) return error(-32004, `Block not available for slot ${slot}`);
      if (slot < node.firstKeptSlot)
        return error(
          -32001,
          `Block ${slot} cleaned up, does not exist on node. First available block: ${node.firstKeptSlot}`,
        );
      if (node.skipped.has(slot))
        return error(-32007, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`);
      const listed = node.blocks.get(slot) ?? [...node.transactions].filter(([, { slot: at }]) => at === slot);
      return {
        result: {
          blockhash: hashOfSlot(slot, node.fork),
          previousBlockhash: hashOfSlot(slot - 1, node.fork),
          blockTime: node.timeOf(slot),
          parentSlot: slotBefore(node, slot),
          signatures: listed.map(([signature]) => signature),
          ...(config.transactionDetails === 'accounts' && { transactions: listed.map(withAccounts) }),
        },
      };
    }
    case 'getBlocksWithLimit': {
      let slot = params[0] as number;
      while (node.skipped.has(slot)) slot += 1;
      return { result: slot > limit ? [] : [slot] };
    }
    case 'getFirstAvailableBlock':
      return { result: node.firstKeptSlot };
    case 'getAccountInfo':
      return {
        result: {
          context: { slot: limit },
          value: shown(accountOf(node, params[0] as string, limit), config.encoding),
        },
      };
    case 'getMultipleAccounts':
      if ((params[0] as string[]).length > 100) return error(-32602, 'Too many inputs provided; max 100');
      return {
        result: {
          context: { slot: limit },
          value: (params[0] as string[]).map((address) => accountOf(node, address, limit)),
        },
      };
    case 'getTokenAccountsByOwner': {
      const owner = Buffer.from(fromBase58(params[0] as string)!);
      const value = [...node.accounts.keys()].flatMap((pubkey) => {
        const account = accountOf(node, pubkey, limit)!;
        const data = Buffer.from(account.data[0], 'base64');
        const isHeld = account.owner === TOKEN_PROGRAM && data.length === 165 && data.subarray(32, 64).equals(owner);
        return isHeld ? [{ pubkey, account }] : [];
      });
      return { result: { context: { slot: limit }, value } };
    }
    case 'getSignaturesForAddress': {
      if ((config.limit ?? 0) > 1_000) return error(-32602, 'Invalid limit; max 1000');
      const all = (node.histories.get(params[0] as string) ?? []).filter(
        (signature) => node.transactions.get(signature)!.slot <= limit,
      );
      // As Agave 4.0.0 does, which looks both up among all transactions that it keeps.
      for (const cursor of [config.before, config.until])
        if (cursor !== undefined && !node.transactions.has(cursor))
          return error(-32020, `Transaction ${cursor} not found`);
      const from = config.before === undefined ? 0 : all.indexOf(config.before) + 1;
      const to = config.until === undefined ? all.length : all.indexOf(config.until);
      const page = all.slice(from, to < 0 ? all.length : to).slice(0, config.limit ?? 1000);
      return {
        result: page.map((signature) => ({
          signature,
          slot: node.transactions.get(signature)!.slot,
          err: node.transactions.get(signature)!.meta.err,
        })),
      };
    }
    case 'getTransaction': {
      const transaction = node.transactions.get(params[0] as string);
      if (transaction === undefined || transaction.slot > limit) return { result: null };
      if (
        typeof transaction.version === 'number' &&
        (config.maxSupportedTransactionVersion ?? -1) < transaction.version
      )
        return error(
          -32015,
          `Transaction version (${transaction.version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${transaction.version}`,
        );
      return { result: transaction };
    }
    case 'getSignatureStatuses':
      return {
        result: {
          context: { slot: node.slot },
          value: (params[0] as string[]).map((signature) =>
            node.transactions.has(signature)
              ? {
                  ...{ slot: node.transactions.get(signature)!.slot, err: node.transactions.get(signature)!.meta.err },
                  ...{ confirmations: null, status: { Ok: null } },
                  confirmationStatus:
                    node.transactions.get(signature)!.slot <= node.finalizedSlot ? 'finalized' : 'confirmed',
                }
              : null,
          ),
        },
      };
    default:
      return error(-32601, 'Method not found');
  }
}

/** With `accounts` as its details a block names the accounts of look-up tables among the others, and who signed. */
function withAccounts([signature, played]: readonly [string, PlayedTransaction]): unknown {
  const { meta, transaction } = played as PlayedTransaction & {
    meta: { loadedAddresses?: { writable: string[]; readonly: string[] } | null };
    transaction?: {
      message: { accountKeys: (string | { pubkey: string })[]; header?: { numRequiredSignatures: number } };
    };
  };
  const { accountKeys = [], header } = transaction?.message ?? {};
  const keys = accountKeys.map((key) => (typeof key === 'string' ? key : key.pubkey));
  const { writable = [], readonly = [] } = meta.loadedAddresses ?? {};
  const named = [...keys, ...writable, ...readonly].map((pubkey, index) => ({
    ...{ pubkey, signer: index < (header?.numRequiredSignatures ?? 1), writable: true },
    source: index < keys.length ? 'transaction' : 'lookupTable',
  }));
  return { meta, version: 'legacy', transaction: { signatures: [signature], accountKeys: named } };
}

interface RawAccount {
  readonly data: readonly [string, 'base64'];
  readonly owner: string;
}

/** `jsonParsed` shows what programs of the node's release wrote; other data stays base64. */
function shown(account: RawAccount | null, encoding: string | undefined): unknown {
  const data = Buffer.from(account?.data[0] ?? '', 'base64');
  if (encoding !== 'jsonParsed' || account?.owner !== TOKEN_PROGRAM || data.length !== 165) return account;
  const [mint, owner] = [base58(data.subarray(0, 32)), base58(data.subarray(32, 64))];
  const amount = data.readBigUInt64LE(64).toString();
  const info = {
    ...{ isNative: false, mint, owner, state: data[108] === 2 ? 'frozen' : 'initialized' },
    tokenAmount: { amount, decimals: 6, uiAmount: Number(amount) / 1e6, uiAmountString: String(Number(amount) / 1e6) },
  };
  return { ...account, data: { parsed: { info, type: 'account' }, program: 'spl-token', space: 165 } };
}

function accountOf(node: SolanaNodeState, address: string, slot: number): RawAccount | null {
  if (address === CLOCK) {
    const data = Buffer.alloc(40);
    data.writeBigUInt64LE(BigInt(slot), 0);
    data.writeBigInt64LE(BigInt(node.timeOf(slot)), 32);
    return { data: [data.toString('base64'), 'base64'], owner: 'Sysvar1111111111111111111111111111111111111' };
  }
  const account = node.accounts.get(address);
  return account === undefined ? null : { data: [account.data, 'base64'], owner: account.owner ?? TOKEN_PROGRAM };
}
