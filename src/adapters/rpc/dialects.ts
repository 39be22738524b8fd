import { ProviderFault, RpcError, type FaultKind, type Meaning } from '../../ports/chain/rpc-pool.ts';

/** Networks whose nodes speak the same API. */
export type Family = 'evm' | 'solana' | 'tron';

/** A refusal as it came: of JSON-RPC, of TRON's `Error` and `code`, or a bad HTTP status alone. */
export interface Said {
  readonly family: Family;
  readonly method?: string;
  readonly code?: number;
  /** Of the HTTP response. */
  readonly status?: number;
  readonly text: string;
}

/** Every given condition must hold. */
export interface Dialect {
  readonly means: Meaning;
  readonly family?: Family;
  readonly method?: RegExp;
  readonly codes?: readonly number[];
  readonly statuses?: readonly number[];
  readonly words?: RegExp;
}

/**
 * What providers and nodes say, and what they mean by it. The first row that fits decides. Texts take precedence over
 * codes, which providers reuse for anything; codes without words come last. Each row has a real answer in
 * `test/fixtures/chains/dialects.json`. An answer that fits no row is `unknown`: never a reason to give up what was
 * asked for.
 */
export const DIALECTS: readonly Dialect[] = [
  { means: 'no-block', family: 'solana', words: /^slot \d+ was skipped/i },
  { means: 'slow-down', words: /(per|\/) ?(s|sec|second|m|min|minute)\b|\b(rps|qps)\b/i },
  {
    means: 'quota-used',
    words:
      /(daily|monthly|today|per (day|month)).{0,60}(limit|quota|count|capacity|credits|requests)|(limit|quota|count|capacity|credits).{0,40}(daily|monthly|today|per (day|month)|this month)|quota|max usage reached|out of credits|billing/i,
  },
  { means: 'quota-used', statuses: [402] },
  {
    means: 'slow-down',
    words:
      /rate.?limit|too many (requests|connections)|request (count|rate|limit)|credits limited|compute units|throttl|capacity exceeded|server (is )?(busy|overloaded)|lack of computing resources|frequency limit|suspended for/i,
  },
  { means: 'slow-down', family: 'tron', words: /SERVER_BUSY|NO_CONNECTION|NOT_ENOUGH_EFFECTIVE_CONNECTION/ },
  { means: 'slow-down', codes: [429, -32429] },
  { means: 'slow-down', statuses: [429] },
  { means: 'too-wide', statuses: [413] },
  {
    means: 'not-kept',
    words:
      /missing trie node|historical state|state .{0,120}not available|pruned|archive|cleaned up, does not exist|history .{0,40}unavailable/i,
  },
  {
    means: 'not-ready',
    words: /indexing is in progress|(finalized|safe) block not found|(still|is) syncing|not (yet )?(synced|ready)/i,
  },
  {
    means: 'behind',
    words:
      /header not found|unknown block|block not found|requested data not available|after last accepted block|beyond (the )?(current )?head|invalid block range params|block range extends beyond/i,
  },
  {
    means: 'too-wide',
    words: /time ?out|timed ?out|took too long|execution aborted|deadline exceeded/i,
  },
  {
    means: 'too-wide',
    family: 'evm',
    words:
      /block range|blocks? .{0,20}range|ranges? .{0,30}(exceed|larger|wide|limit|not supported)|range\b.{0,30}(bigger|larger|limit|exceeds)|limited to a .{0,30}range|exceeds? max (results|block range|addresses)|exceed maximum block range|query returned more than|response (size|is too)|too many (blocks|results|logs)/i,
  },
  // BSC's public nodes refuse the logs even of one block with it; other calls mean their rate.
  { means: 'too-wide', family: 'evm', method: /^eth_getLogs$/, words: /^limit exceeded/i },
  { means: 'slow-down', family: 'evm', words: /^limit exceeded/i },
  {
    means: 'cannot',
    words:
      /method .{0,60}(not (supported|available|found|allowed|enabled|whitelisted)|does not exist)|method not found|unsupported method|(is|are) disabled|unauthori[sz]ed|invalid api key|upgrade your plan to (use|access)|not available on .{0,30}plan/i,
  },
  { means: 'known', words: /already known|known transaction|nonce too low|already (imported|processed)/i },
  { means: 'known', family: 'tron', words: /DUP_TRANSACTION/ },
  // The codes of java-tron's broadcasts. What a transaction refers to is known to every node that keeps up.
  { means: 'behind', family: 'tron', words: /^TAPOS_ERROR/ },
  { means: 'not-ready', family: 'tron', words: /^BLOCK_UNSOLIDIFIED/ },
  { means: 'no-funds', family: 'tron', words: /^BANDWITH_ERROR/ },
  { means: 'underpriced', words: /underpriced|less than block base fee|below (the )?(minimum|base fee)/i },
  {
    means: 'wrong',
    family: 'evm',
    words:
      /exceeds the configured cap|intrinsic gas|gas limit too high|exceeds block gas limit|invalid (chain id|sender)|^rlp: /i,
  },
  { means: 'no-funds', words: /insufficient (funds|lamports)|balance is not sufficient/i },
  {
    means: 'wrong',
    family: 'tron',
    words: /^(SIGERROR|TRANSACTION_EXPIRATION_ERROR|TOO_BIG_TRANSACTION_ERROR|CONTRACT_(VALIDATE|EXE)_ERROR)/,
  },
  {
    means: 'reverted',
    family: 'evm',
    words: /revert|invalid opcode|invalid jump|stack (under|over)flow|out of gas|gas required exceeds|VM execution/i,
  },
  { means: 'reverted', family: 'evm', codes: [3] },
  { means: 'not-kept', family: 'evm', codes: [4444] },
  { means: 'cannot', family: 'solana', codes: [-32010, -32011, -32015] },
  { means: 'behind', family: 'solana', codes: [-32004, -32005, -32014, -32016] },
  { means: 'cannot', codes: [-32601] },
  { means: 'not-kept', family: 'solana', codes: [-32020] },
  // TRON's public API bans for a while with 403.
  { means: 'slow-down', statuses: [403] },
];

export const dialectOf = ({ family, method = '', code, status, text }: Said): Dialect | undefined =>
  DIALECTS.find(
    (row) =>
      (row.family === undefined || row.family === family) &&
      (row.method === undefined || row.method.test(method)) &&
      (row.codes === undefined || (code !== undefined && row.codes.includes(code))) &&
      (row.statuses === undefined || (status !== undefined && row.statuses.includes(status))) &&
      (row.words === undefined || row.words.test(text)),
  );

export const meaningOf = (said: Said): Meaning => dialectOf(said)?.means ?? 'unknown';

const FAULTS = {
  'too-wide': 'too-large',
  'slow-down': 'rate-limited',
  'quota-used': 'quota-used',
  cannot: 'incapable',
  behind: 'behind',
  'no-block': 'inconsistent',
  'not-ready': 'behind',
  'not-kept': 'incapable',
  wrong: 'inconsistent',
  reverted: 'inconsistent',
  'no-funds': 'inconsistent',
  known: 'inconsistent',
  underpriced: 'inconsistent',
  unknown: 'unknown',
} as const satisfies Record<Meaning, FaultKind>;

/** A refusal as what it says about the provider, for callers that have no use for the answer itself. */
export const faultOf = (error: RpcError, what: string, means: Meaning = error.means): ProviderFault =>
  new ProviderFault(FAULTS[means], `${what}: ${error.message} (${error.code})`);

/** A refusal with its meaning. Details of some providers are in `data` alone. */
export const rpcErrorOf = (said: Said, data?: unknown): RpcError =>
  new RpcError(
    said.code ?? 0,
    said.text,
    data,
    meaningOf({ ...said, text: `${said.text} ${detailOf(data)}`.trimEnd() }),
  );

function detailOf(data: unknown): string {
  if (typeof data === 'string') return data.startsWith('0x') ? '' : data;
  if (typeof data !== 'object' || data === null) return '';
  return Object.values(data)
    .filter((part) => typeof part === 'string' && !part.startsWith('0x'))
    .join(' ');
}
