import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantity, type Rpc } from '../../src/sandbox/json-rpc.ts';

/** What is read of a block. */
interface Place {
  readonly hash: string;
  readonly number: string;
  readonly timestamp: string;
}

interface Payload {
  readonly executionPayload: { readonly blockHash: string; readonly transactions: readonly string[] };
  readonly executionRequests: readonly string[];
}

const NOWHERE = `0x${'00'.repeat(32)}`;
/** How long a node may take to put what is pending into a block. */
const FILL_MS = 150;

/**
 * The part of a consensus client that makes blocks, over the Engine API (execution-apis, "Prague" and "Osaka"): one
 * block a call, final when it is `finalLag` blocks deep.
 */
export class ConsensusClient {
  readonly #url: string;
  readonly #secret: Buffer;
  readonly #rpc: Rpc;
  readonly #finalLag: number;

  constructor(url: string, secret: Buffer, rpc: Rpc, finalLag: number) {
    this.#url = url;
    this.#secret = secret;
    this.#rpc = rpc;
    this.#finalLag = finalLag;
  }

  /** `timeSec`: the block's time if it is later than its parent's. */
  async makeBlock(timeSec = 0): Promise<void> {
    const head = await this.#rpc<Place>('eth_getBlockByNumber', ['latest', false]);
    const attributes = {
      timestamp: quantity(Math.max(Number(head.timestamp) + 1, timeSec)),
      ...{ prevRandao: `0x${randomBytes(32).toString('hex')}`, suggestedFeeRecipient: `0x${'fe'.repeat(20)}` },
      ...{ withdrawals: [], parentBeaconBlockRoot: NOWHERE },
    };
    const { payloadId } = await this.#choose(head.hash, Number(head.number), attributes);
    if (payloadId === null) throw new Error('the node builds no block');
    if (await this.#hasPending()) await sleep(FILL_MS);
    const { executionPayload, executionRequests } = await this.#call<Payload>('engine_getPayloadV5', [payloadId]);
    const made = [executionPayload, [], NOWHERE, executionRequests];
    const { status } = await this.#call<{ status: string }>('engine_newPayloadV4', made);
    if (status !== 'VALID') throw new Error(`the node calls its own block ${status}`);
    await this.#choose(executionPayload.blockHash, Number(head.number) + 1, null);
  }

  /** Makes a block the head; what lies deep enough below it becomes final. */
  async #choose(headBlockHash: string, number: number, attributes: object | null) {
    const finalNumber = Math.max(0, number - this.#finalLag);
    const { hash } = await this.#rpc<Place>('eth_getBlockByNumber', [quantity(finalNumber), false]);
    const state = { headBlockHash, safeBlockHash: hash, finalizedBlockHash: hash };
    return this.#call<{ payloadId: string | null }>('engine_forkchoiceUpdatedV3', [state, attributes]);
  }

  async #hasPending(): Promise<boolean> {
    const { pending, queued } = await this.#rpc<{ pending: string; queued: string }>('txpool_status');
    return Number(pending) + Number(queued) > 0;
  }

  async #call<Result>(method: string, params: readonly unknown[]): Promise<Result> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#token()}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result: Result; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Valid for a minute. */
  #token(): string {
    const text = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
    const signed = `${text({ alg: 'HS256', typ: 'JWT' })}.${text({ iat: Math.floor(Date.now() / 1000) })}`;
    return `${signed}.${createHmac('sha256', this.#secret).update(signed).digest('base64url')}`;
  }
}
