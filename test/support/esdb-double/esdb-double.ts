import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import {
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import usersGrpc from '@eventstore/db-client/generated/users_grpc_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
  DeleteReq,
  DeleteResp,
  ReadReq,
  ReadResp,
  TombstoneReq,
  TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import {
  appendTooLarge,
  betweenRecords,
  type CallFault,
  errorOf,
  FaultQueue,
  operationTimedOut,
  streamDeleted,
  thrownByHandler,
  unauthenticated,
  unavailable,
  wrongVersionForDelete,
} from './double-faults.ts';
import {
  type AppendVerdict,
  DoubleLog,
  type Expected,
  type LoggedEvent,
  type ServerRules,
  type ProposedEvent,
} from './double-log.ts';
import {
  batchAnswer,
  batchBusy,
  batchTimeout,
  deleted,
  eventMessage,
  expectedFrom,
  nameFrom,
  proposedFrom,
  streamNotFound,
  tombstoned,
  type Answerable,
  unaryAnswer,
} from './double-messages.ts';
import { DoubleSubscription } from './double-subscription.ts';
import { DoubleAccess } from './double-access.ts';
import type { MadeCertificate } from '../certificates.ts';

export interface EsdbDoubleOptions {
  /** Which server it stands for; absent: EventStoreDB 23.10. */
  readonly rules?: ServerRules;
  /** Nodes of one cluster share it. */
  readonly log?: DoubleLog;
  /** Between a write and the moment that it can be read. */
  readonly readableAfterMs?: number;
  /** Whether the server features name batch append (they do since 21.10). */
  readonly batchAppend?: boolean;
  /** Users, access control lists and TLS; absent: as a server that runs with `--insecure`. */
  readonly secured?: { readonly adminPassword: string; readonly certificate: MadeCertificate };
  /** Users of a server that this one continues after a restart. */
  readonly access?: DoubleAccess;
}

/** Of the servers whose rules are kept. */
const VERSIONS: Readonly<Record<ServerRules, string>> = { '23.10': '23.10.6', '24.10': '24.10.0', '25.1': '26.1.0' };

/** `AnyStreamRevision.Any` of the server. */
const ANY_REVISION = -2;

/** `ReadDirection.BACKWARDS` of streams.proto. */
const BACKWARDS = 1;

interface OpenBatch {
  readonly stream: string;
  readonly expected: Expected;
  readonly events: ProposedEvent[];
}

/**
 * An EventStoreDB node in this process, as far as the wire shows it: the client's own generated messages over real
 * gRPC. Written from the protocol definitions, the documented behaviour of the server and its published sources, and
 * compared with a running EventStoreDB
 * 23.10.6 by `test/contract/esdb-server-rules.test.ts`, which both pass.
 */
export class EsdbDouble {
  readonly log: DoubleLog;
  readonly faults = new FaultQueue();
  readonly #server = new Server();
  readonly #subscriptions = new Map<DoubleSubscription, ServerWritableStream<ReadReq, ReadResp>>();
  readonly #batchAppend: boolean;
  readonly #rules: ServerRules;
  readonly access: DoubleAccess | null;
  #port = 0;
  #leader: EsdbDouble | null = null;
  #members: readonly EsdbDouble[] = [this];
  /** Appends that reached the log's door, faults included. */
  appendCalls = 0;
  subscribeCalls = 0;
  readCalls = 0;
  /** Calls of batches that are under way, and those that there were. */
  openBatches = 0;
  batchCalls = 0;

  private constructor({
    rules = '23.10',
    readableAfterMs,
    log = new DoubleLog(rules, readableAfterMs),
    batchAppend = true,
    secured,
    access,
  }: EsdbDoubleOptions) {
    this.log = log;
    this.#rules = rules;
    this.access = access?.restarted() ?? (secured ? new DoubleAccess(log, secured.adminPassword) : null);
    this.#batchAppend = batchAppend;
    this.#server.addService(streamsGrpc.StreamsService, {
      read: (call: ServerWritableStream<ReadReq, ReadResp>) => this.#read(call),
      append: (call: ServerReadableStream<AppendReq, AppendResp>, answer: sendUnaryData<AppendResp>) =>
        this.#append(call, answer),
      batchAppend: (call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>) => this.#batch(call),
      delete: (call: ServerUnaryCall<DeleteReq, DeleteResp>, answer: sendUnaryData<DeleteResp>) =>
        this.#delete(call, (name, expected) => this.log.delete(name, expected), answer, deleted),
      tombstone: (call: ServerUnaryCall<TombstoneReq, TombstoneResp>, answer: sendUnaryData<TombstoneResp>) =>
        this.#delete(call, (name, expected) => this.log.tombstone(name, expected), answer, tombstoned),
    });
    if (this.access) this.#server.addService(usersGrpc.UsersService, this.access.users());
    this.#server.addService(featuresGrpc.ServerFeaturesService, {
      getSupportedMethods: (_: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>) =>
        answer(null, this.#supported()),
    });
    this.#server.addService(gossipGrpc.GossipService, {
      read: (_: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>) => answer(null, this.#clusterInfo()),
    });
  }

  static async start({
    port = 0,
    ...options
  }: EsdbDoubleOptions & { readonly port?: number } = {}): Promise<EsdbDouble> {
    const double = new EsdbDouble(options);
    double.#port = await promisify(double.#server.bindAsync.bind(double.#server))(
      `127.0.0.1:${port}`,
      credentialsOf(options.secured),
    );
    return double;
  }

  get port(): number {
    return this.#port;
  }

  get connectionString(): string {
    return `esdb://127.0.0.1:${this.#port}?tls=false`;
  }

  /** Makes this node a follower: calls that require the leader are sent on to it. Null makes it the leader. */
  follow(leader: EsdbDouble | null): void {
    this.#leader = leader;
  }

  /** What this node's gossip tells. */
  gossipOf(members: readonly EsdbDouble[]): void {
    this.#members = members;
  }

  get subscriptions(): readonly DoubleSubscription[] {
    return [...this.#subscriptions.keys()];
  }

  /** Ends every subscription as a server that goes away does. */
  dropSubscriptions(): void {
    for (const call of this.#subscriptions.values()) call.emit('error', unavailable());
  }

  async stop(): Promise<void> {
    for (const subscription of this.#subscriptions.keys()) subscription.stop();
    this.#server.forceShutdown();
    await Promise.resolve();
  }

  /**
   * As `Streams.BatchAppend` of the server: who calls is known from the beginning of the call, each append is judged by
   * itself, and only a node that does not lead, or goes away, ends the call. A client that half-closes it hears one more
   * answer, and then the end; without one it hears nothing, so it has to cancel.
   */
  #batch(call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void {
    const open = new Map<string, OpenBatch>();
    let isHalfClosed = false;
    this.openBatches += 1;
    this.batchCalls += 1;
    call.on('close', () => (this.openBatches -= 1));
    const answer = (response: BatchAppendResp): void => {
      call.write(response);
      if (isHalfClosed) call.end();
    };
    if (this.access?.isUnknown(call.metadata)) return void call.emit('error', unauthenticated());
    call.on('data', (request: BatchAppendReq) => {
      const correlationId = request.getCorrelationId()!;
      const key = correlationId.getString();
      const options = request.getOptions();
      const batch = open.get(key) ?? {
        stream: nameFrom(options!.getStreamIdentifier()),
        expected: expectedFrom(options, () => options!.getStreamPosition()),
        events: [],
      };
      open.set(key, batch);
      batch.events.push(...request.getProposedMessagesList().map(proposedFrom));
      if (!request.getIsFinal()) return;
      open.delete(key);
      this.appendCalls += 1;
      if (this.access?.refusal(call.metadata, 'write', batch.stream))
        return answer(batchAnswer(correlationId, batch.stream, { ok: false, why: 'denied' }));
      const fault = this.#faultOf('append', call.metadata.get('requires-leader').length > 0);
      if (fault?.kind === 'busy') return answer(batchBusy(correlationId, batch.stream));
      if (fault && !storesFirst(fault)) return void (fault.kind === 'silent' || call.emit('error', errorOf(fault)));
      void this.#appended(batch.stream, batch.expected, batch.events).then((verdict) => {
        if (!fault && verdict) answer(batchAnswer(correlationId, batch.stream, verdict));
        else if (fault?.kind === 'timeout-after-commit') answer(batchTimeout(correlationId, batch.stream));
        else if (fault?.kind === 'unavailable-after-commit') call.emit('error', unavailable());
      });
    });
    call.on('end', () => (isHalfClosed = true));
  }

  #append(call: ServerReadableStream<AppendReq, AppendResp>, answer: sendUnaryData<AppendResp>): void {
    let stream = '';
    let expected: Expected = -1;
    const events: ProposedEvent[] = [];
    call.on('data', (request: AppendReq) => {
      const options = request.getOptions();
      if (options) {
        stream = nameFrom(options.getStreamIdentifier());
        expected = expectedFrom(options, () => options.getRevision());
      }
      const message = request.getProposedMessage();
      if (message) events.push(proposedFrom(message));
    });
    call.on('end', () => {
      this.appendCalls += 1;
      const refusal = this.access?.refusal(call.metadata, 'write', stream);
      if (refusal) return void answer(refusal);
      const fault = this.#faultOf('append', call.metadata.get('requires-leader').length > 0);
      if (fault && !storesFirst(fault)) return void (fault.kind === 'silent' || answer(errorOf(fault)));
      void this.#appended(stream, expected, events).then((verdict) => {
        if (!fault && verdict) answerAppend(answer, stream, verdict);
        else if (fault?.kind === 'timeout-after-commit') answer(operationTimedOut());
        else if (fault?.kind === 'unavailable-after-commit') answer(unavailable());
      });
    });
  }

  /** A refusal is answered at once, an append once it can be read. Null: it is not answered. */
  async #appended(stream: string, expected: Expected, events: readonly ProposedEvent[]): Promise<Answerable | null> {
    const verdict = this.log.append(stream, expected, events);
    if (verdict.ok) await this.log.readable();
    return !verdict.ok && verdict.why === 'not-ready' ? null : verdict;
  }

  #delete<Answer>(
    { request, metadata }: ServerUnaryCall<DeleteReq | TombstoneReq, Answer>,
    run: (name: string, expected: Expected) => AppendVerdict,
    answer: sendUnaryData<Answer>,
    done: (position: bigint) => Answer,
  ): void {
    const options = request.getOptions()!;
    const name = nameFrom(options.getStreamIdentifier());
    const expected = expectedFrom(options, () => options.getRevision());
    const refusal = this.access?.refusal(metadata, 'delete', name);
    if (refusal) return void answer(refusal);
    const verdict = run(name, expected);
    if (verdict.ok) void this.log.readable().then(() => answer(null, done(verdict.position!)));
    else if (verdict.why !== 'revision') answer(streamDeleted(name));
    else answer(wrongVersionForDelete(name, typeof expected === 'number' ? expected : ANY_REVISION, verdict.current));
  }

  #read(call: ServerWritableStream<ReadReq, ReadResp>): void {
    const options = call.request.getOptions()!;
    const asked = options.getStream();
    const refusal = this.access?.refusal(call.metadata, 'read', asked ? nameFrom(asked.getStreamIdentifier()) : '$all');
    if (refusal) return void call.emit('error', refusal);
    if (options.hasSubscription()) return this.#subscribe(call);
    this.readCalls += 1;
    const fault = this.#faultOf('read', call.metadata.get('requires-leader').length > 0);
    if (fault && fault.kind !== 'slow') return void (fault.kind === 'silent' || call.emit('error', errorOf(fault)));
    const stream = options.getStream();
    const limit = Number(options.getCount());
    if (!stream) {
      const position = options.getAll()!.getPosition()?.getCommitPosition();
      if (position !== undefined && this.log.isBetweenRecords(BigInt(position)))
        return void call.emit('error', betweenRecords());
      return void writeEvents(call, this.#ofAll(options, limit), fault);
    }
    const name = nameFrom(stream.getStreamIdentifier());
    if (this.log.isTombstoned(name)) return void call.emit('error', streamDeleted(name));
    const events = this.log.stream(name);
    if (events.length === 0) call.write(streamNotFound(name));
    const backwards = Number(options.getReadDirection()) === BACKWARDS;
    const first = Number(events[0]?.revision ?? 0);
    const from = stream.hasEnd()
      ? events.length - 1
      : stream.hasStart()
        ? 0
        : Math.max(0, Number(stream.getRevision()) - first);
    const found = backwards ? events.slice(0, from + 1).reverse() : events.slice(from);
    void writeEvents(call, found.slice(0, limit), fault);
  }

  /**
   * Forward reads begin at the position itself, backward reads before it (developers.eventstore.com, "Reading from
   * $all").
   */
  #ofAll(options: NonNullable<ReturnType<ReadReq['getOptions']>>, limit: number): readonly LoggedEvent[] {
    const all = options.getAll()!;
    const backwards = Number(options.getReadDirection()) === BACKWARDS;
    const position = all.hasPosition() ? BigInt(all.getPosition()!.getCommitPosition()) : null;
    const { events } = this.log;
    if (!backwards) return events.slice(position === null ? 0 : this.log.indexAfter(position - 1n)).slice(0, limit);
    const end = position === null ? events.length : this.log.indexAfter(position - 1n);
    return events.slice(Math.max(0, end - limit), end).reverse();
  }

  #subscribe(call: ServerWritableStream<ReadReq, ReadResp>): void {
    this.subscribeCalls += 1;
    const fault = this.#faultOf('subscribe', false);
    if (fault) return void (fault.kind === 'silent' || call.emit('error', errorOf(fault)));
    const position = call.request.getOptions()!.getAll()!.getPosition()?.getCommitPosition();
    if (position !== undefined && this.log.isBetweenRecords(BigInt(position)))
      return void call.emit('error', thrownByHandler(this.#rules));
    const subscription = new DoubleSubscription(call, this.log);
    this.#subscriptions.set(subscription, call);
    const forget = (): void => {
      subscription.stop();
      this.#subscriptions.delete(subscription);
    };
    call.on('cancelled', forget);
    call.on('close', forget);
    call.on('error', forget);
  }

  #faultOf(kind: 'append' | 'read' | 'subscribe', requiresLeader: boolean): CallFault | undefined {
    const planned = this.faults.take(kind);
    if (planned) return planned;
    return requiresLeader && this.#leader
      ? { kind: 'not-leader', host: '127.0.0.1', port: this.#leader.port }
      : undefined;
  }

  #supported(): InstanceType<typeof features.SupportedMethods> {
    const supported = new features.SupportedMethods();
    supported.setEventStoreServerVersion(VERSIONS[this.#rules]);
    for (const name of ['append', 'read', 'delete', 'tombstone', ...(this.#batchAppend ? ['batchappend'] : [])]) {
      const method = new features.SupportedMethod();
      method.setServiceName('event_store.client.streams.streams');
      method.setMethodName(name);
      supported.addMethods(method);
    }
    return supported;
  }

  #clusterInfo(): InstanceType<typeof gossip.ClusterInfo> {
    const info = new gossip.ClusterInfo();
    for (const node of this.#members) {
      const endPoint = new gossip.EndPoint();
      endPoint.setAddress('127.0.0.1');
      endPoint.setPort(node.#port);
      const id = new shared.UUID();
      id.setString(randomUUID());
      const member = new gossip.MemberInfo();
      member.setInstanceId(id);
      member.setState(node.#leader ? 6 : 8);
      member.setIsAlive(node.#port > 0);
      member.setTimeStamp(String(Date.now()));
      member.setHttpEndPoint(endPoint);
      info.addMembers(member);
    }
    return info;
  }
}

const credentialsOf = (secured: EsdbDoubleOptions['secured']): ServerCredentials =>
  secured
    ? ServerCredentials.createSsl(null, [
        { cert_chain: Buffer.from(secured.certificate.cert), private_key: Buffer.from(secured.certificate.key) },
      ])
    : ServerCredentials.createInsecure();

async function writeEvents(
  call: ServerWritableStream<ReadReq, ReadResp>,
  events: readonly LoggedEvent[],
  slow?: Extract<CallFault, { readonly kind: 'slow' }>,
): Promise<void> {
  for (const [index, event] of events.entries()) {
    if (slow) await new Promise((wait) => setTimeout(wait, slow.everyMs));
    call.write(eventMessage(event));
    if (slow?.breaksAfter === index + 1) return void call.emit('error', unavailable());
  }
  call.end();
}

function answerAppend(answer: sendUnaryData<AppendResp>, stream: string, verdict: Answerable): void {
  if (verdict.ok || verdict.why === 'revision') answer(null, unaryAnswer(verdict));
  else answer(verdict.why === 'size' ? appendTooLarge(verdict.mostBytes) : streamDeleted(stream));
}

const storesFirst = ({ kind }: CallFault): boolean => kind.endsWith('-after-commit');
