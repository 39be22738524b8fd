import { checkServerIdentity } from 'node:tls';
import { isIP } from 'node:net';
import {
  type CallOptions,
  type ChannelOptions,
  type ClientReadableStream,
  Client,
  credentials,
  type ChannelCredentials,
  Metadata,
} from '@grpc/grpc-js';
import { faultOf, StoreFault } from '../faults.ts';
import { AppendCalls, type Stored } from './append-calls.ts';
import { decodeMembers, encodeUserCall, type Member, type UserCall } from './control-messages.ts';
import {
  type AppendRequest,
  decodeAppend,
  decodeRead,
  encodeAppend,
  encodeRead,
  encodeSubscription,
  encodeTombstone,
  type ReadAnswer,
  type ReadRequest,
  type StreamFilter,
} from './messages.ts';
import { findNode } from './nodes.ts';
import { type ClientSettings, type Endpoint, secureContextOf, type TlsSettings } from './settings.ts';
import type { LogPosition } from '../position.ts';

export type Reading = ClientReadableStream<ReadAnswer>;

/** An event written by others than gRPC clients may have 16 MiB. */
const MOST_BYTES = 17 * 1024 * 1024;
/** How long a channel that is given up stays open: a call that has chosen it and not begun would fail otherwise. */
const CLOSED_AFTER_MS = 1_000;
const STREAMS = '/event_store.client.streams.Streams/';
const USERS = '/event_store.client.users.Users/';
const GOSSIP = '/event_store.client.gossip.Gossip/Read';

interface Node {
  readonly endpoint: Endpoint;
  readonly calls: Client;
  readonly appends: AppendCalls;
}

/**
 * The calls to a server that this service needs, over one connection to one node: the leader, unless the settings
 * prefer another. A node that went away or does not lead any more is left for the one that it names or that the others
 * know. Calls reject with `StoreFault`.
 */
export class EsdbClient {
  readonly #settings: ClientSettings;
  readonly #readings = new Set<Reading>();
  #node: Promise<Node> | null = null;
  #failed: Endpoint | null = null;
  #named: Endpoint | null = null;
  #closed = false;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
  }

  /** Its errors need a listener to its very end; a first one is there, which hears and tells nothing. */
  async read(request: ReadRequest): Promise<Reading> {
    return this.#reading(encodeRead(request), true);
  }

  /** What lies behind a position, and then what comes. */
  async subscribe(from: LogPosition | 'start', filter: StreamFilter): Promise<Reading> {
    return this.#reading(encodeSubscription(from, filter), false);
  }

  async append(request: Omit<AppendRequest, 'correlationId'>): Promise<Stored> {
    const node = await this.#connected();
    try {
      return await node.appends.append(request);
    } catch (error) {
      throw this.#left(node, error);
    }
  }

  async tombstone(stream: string, deadlineMs: number): Promise<void> {
    await this.#unary(`${STREAMS}Tombstone`, encodeTombstone(stream), deadlineMs);
  }

  async ofUsers(call: UserCall, deadlineMs: number): Promise<void> {
    await this.#unary(`${USERS}${call.method}`, encodeUserCall(call), deadlineMs);
  }

  /** Ends what is read, and takes nothing more. */
  close(): void {
    this.retire();
    for (const reading of this.#readings) reading.cancel();
  }

  /** Takes nothing more. What is under way goes on. */
  retire(): void {
    this.#closed = true;
    const node = this.#node;
    this.#node = null;
    node?.then(leave, () => {});
  }

  async #reading(request: Buffer, requiresLeader: boolean): Promise<Reading> {
    const node = await this.#connected();
    const reading = node.calls.makeServerStreamRequest(
      `${STREAMS}Read`,
      asItIs,
      decodeRead,
      request,
      this.#metadata(requiresLeader),
    );
    this.#readings.add(reading);
    reading.on('error', (error) => void this.#left(node, error));
    reading.on('status', () => this.#readings.delete(reading));
    if (this.#closed) reading.cancel();
    return reading;
  }

  async #unary(path: string, request: Buffer, deadlineMs: number): Promise<void> {
    const node = await this.#connected();
    try {
      await unary(node.calls, path, request, this.#metadata(true), asItIs, { deadline: Date.now() + deadlineMs });
    } catch (error) {
      throw this.#left(node, error);
    }
  }

  #connected(): Promise<Node> {
    if (this.#closed) return Promise.reject(new StoreFault('unavailable', 'the client is closed'));
    if (this.#node) return this.#node;
    const node = this.#connect();
    this.#node = node;
    node.catch(() => {
      if (this.#node === node) this.#node = null;
    });
    return node;
  }

  async #connect(): Promise<Node> {
    const [named, failed] = [this.#named, this.#failed];
    this.#named = null;
    const endpoint = named ?? (await this.#discovered(failed));
    const calls = this.#open(endpoint);
    const node = {
      endpoint,
      calls,
      appends: new AppendCalls(() =>
        calls.makeBidiStreamRequest(`${STREAMS}BatchAppend`, encodeAppend, decodeAppend, this.#metadata(true)),
      ),
    };
    if (!this.#closed) return node;
    leave(node);
    throw new StoreFault('unavailable', 'the client is closed');
  }

  async #discovered(failed: Endpoint | null): Promise<Endpoint> {
    const [only] = this.#settings.endpoints;
    if (only && !this.#settings.discovers) return only;
    return findNode(
      this.#settings,
      (node) => this.#membersOf(node),
      failed,
      () => this.#closed,
    );
  }

  async #membersOf(node: Endpoint): Promise<readonly Member[]> {
    const client = this.#open(node);
    try {
      const deadline = Date.now() + this.#settings.gossipTimeoutMs;
      return await unary(client, GOSSIP, Buffer.alloc(0), this.#metadata(false), decodeMembers, { deadline });
    } finally {
      client.close();
    }
  }

  #open({ host, port }: Endpoint): Client {
    const { keepAliveIntervalMs, keepAliveTimeoutMs, tls } = this.#settings;
    const options: ChannelOptions = {
      'grpc.keepalive_time_ms': keepAliveIntervalMs ?? Number.MAX_VALUE,
      'grpc.keepalive_timeout_ms': keepAliveTimeoutMs ?? Number.MAX_VALUE,
      'grpc.max_receive_message_length': MOST_BYTES,
      // A new client means a new connection, since the old one may look healthy and be silent.
      'grpc.use_local_subchannel_pool': 1,
      // Whoever calls knows better what may be asked again.
      'grpc.enable_retries': 0,
      ...(tls && isIP(host) > 0 && { 'grpc.ssl_target_name_override': nameInPlaceOf(host) }),
    };
    return new Client(isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`, credentialsOf(tls, host), options);
  }

  #metadata(requiresLeader: boolean): Metadata {
    const { connectionName, login, tls } = this.#settings;
    const metadata = new Metadata();
    metadata.set('connection-name', connectionName);
    if (requiresLeader) metadata.set('requires-leader', 'true');
    if (login && tls)
      metadata.set('authorization', `Basic ${Buffer.from(`${login.name}:${login.password}`).toString('base64')}`);
    return metadata;
  }

  /** Leaves a node that cannot answer; the next call looks for another. */
  #left(node: Node, error: unknown): StoreFault {
    const fault = error instanceof StoreFault ? error : faultOf(error);
    if (fault.kind !== 'not-leader' && fault.kind !== 'unavailable') return fault;
    const current = this.#node;
    void current?.then(
      (its) => {
        if (its !== node || this.#node !== current) return;
        this.#node = null;
        this.#named = fault.leader ?? null;
        this.#failed = node.endpoint;
        leave(node);
      },
      () => {},
    );
    return fault;
  }
}

function leave({ calls, appends }: Node): void {
  appends.finish();
  setTimeout(() => calls.close(), CLOSED_AFTER_MS).unref();
}

const asItIs = (message: Buffer): Buffer => message;

function unary<Answer>(
  client: Client,
  path: string,
  request: Buffer,
  metadata: Metadata,
  decode: (answer: Buffer) => Answer,
  options: CallOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, asItIs, decode, request, metadata, options, (error, answer) => {
      if (error) reject(faultOf(error));
      else if (answer === undefined) reject(new StoreFault('unknown', `no answer to ${path}`));
      else resolve(answer);
    });
  });
}

/** A certificate is compared with the address itself, since TLS names no addresses and Node.js warns about it. */
function credentialsOf(tls: TlsSettings | null, host: string): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  return credentials.createFromSecureContext(secureContextOf(tls), {
    ...(isIP(host) > 0 && { checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate) }),
  });
}

/** A name that nobody has: an address must not be named, and gRPC always names something. */
const nameInPlaceOf = (host: string): string => `${host.replaceAll(/[.:]/g, '-')}.invalid`;
