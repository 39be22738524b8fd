import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EventMetadata } from '../domain/events/envelope.ts';
import type { Network } from '../domain/networks/networks.ts';
import type { NotificationId, SessionId } from '../domain/values/ids.ts';
import { deliveryStream, sessionStream } from '../domain/values/streams.ts';
import type { HttpObserver } from '../http/endpoint.ts';
import type {
  AppendRequest,
  AppendResult,
  EventStore,
  RecordedEvent,
  Subscription,
} from '../ports/event-log/event-store.ts';
import { traceIdOf, type TraceSource } from './metrics/exemplar.ts';
import { storeWith } from '../ports/event-log/store-with.ts';
import type { Span, SpanOptions, TraceParent, Tracer } from '../ports/tracing.ts';
import type { WebhookAnswer, WebhookRequest, WebhookSender } from '../ports/webhooks/sender.ts';
import type { CommandContext } from '../runtime/commands/handler.ts';
import { addToLogContext } from '../runtime/util/log-context.ts';
import { must } from '../domain/values/must.ts';

interface Commands<Command extends { readonly type: string }, Result> {
  execute(stream: string, command: Command, context: CommandContext, options: { expectNew?: boolean }): Promise<Result>;
}

interface DepositCalls<Facts, Recorded, Confirmed, Reverted> {
  record(id: SessionId, transfers: readonly Facts[]): Promise<Recorded>;
  move(id: SessionId, facts: Facts, headNumber: number): Promise<boolean>;
  confirm(id: SessionId, data: readonly Confirmed[], network: Network): Promise<void>;
  revert(id: SessionId, revert: Reverted, network: string): Promise<void>;
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The newest attempts, which may not be recorded and measured yet. */
const MAX_ATTEMPTS = 10_000;

/**
 * Adds spans to the parts of the service: request, command, append, projection, webhook attempt, and reading of chains.
 * Work that its cause waits for is a child span; work that happens later is a separate trace with a link to its cause,
 * found through the trace context in the metadata of events. Only created when tracing is enabled.
 */
export class Tracing implements TraceSource {
  readonly #tracer: Tracer;
  readonly #store: EventStore;
  readonly #current = new AsyncLocalStorage<Span>();
  readonly #attempts = new Map<string, TraceParent>();

  constructor(tracer: Tracer, store: EventStore) {
    this.#tracer = tracer;
    this.#store = store;
  }

  close(): Promise<void> {
    return this.#tracer.close();
  }

  /** The current trace, for log lines. */
  logContext(): { readonly traceId?: string } {
    const traceParent = this.current();
    return traceParent === undefined ? {} : { traceId: traceIdOf(traceParent) };
  }

  current(): TraceParent | undefined {
    return this.#current.getStore()?.traceParent;
  }

  ofAttempt(notificationId: string): TraceParent | undefined {
    return this.#attempts.get(notificationId);
  }

  /** Wraps every request in a span; the app reads the span as the caller's trace context. */
  requests(serve: Serve): Serve {
    return (request, response) => {
      const parent = headerOf(request.rawHeaders, 'traceparent');
      const span = this.#tracer.start(request.method ?? 'GET', {
        kind: 'server',
        parent,
        facts: { 'http.request.method': request.method ?? 'GET', 'url.scheme': 'http' },
      });
      request.rawHeaders = [...withoutHeader(request.rawHeaders, 'traceparent'), 'traceparent', span.traceParent];
      response.once('close', () => {
        span.add({ 'http.response.status_code': response.statusCode });
        if (response.statusCode >= 500) span.fail(String(response.statusCode));
        span.end();
      });
      this.#current.run(span, () => serve(request, response));
    };
  }

  /** Names the request's span after its operation. */
  observer(inner: HttpObserver): HttpObserver {
    return {
      requestEnded: (operation, method, status, durationSec) => {
        const span = this.#current.getStore();
        span?.rename(`${method} ${operation}`);
        span?.add({ 'quittance.operation': operation });
        inner.requestEnded(operation, method, status, durationSec);
      },
      authenticationFailed: (fault) => {
        this.#current.getStore()?.add({ 'quittance.authentication_fault': fault });
        inner.authenticationFailed(fault);
      },
    };
  }

  /** Appends are children of the command whose events they write. */
  store(): EventStore {
    return storeWith(this.#store, { append: (request) => this.#append(request) });
  }

  /** Gives each command a span, which the metadata of its events names. */
  commands<Command extends { readonly type: string }, Result>(handler: Commands<Command, Result>): void {
    const execute = handler.execute.bind(handler);
    handler.execute = async (stream, command, context, options) => {
      const cause = await this.#causeOf(stream, command, context);
      const parent = context.traceParent ?? this.#attemptOf(stream, command) ?? this.#current.getStore()?.traceParent;
      const facts = { 'quittance.stream': stream, 'quittance.actor': context.actor };
      return this.#within(
        command.type,
        { parent: cause === undefined ? parent : undefined, links: [cause], facts },
        (span) => execute(stream, command, { ...context, traceParent: span.traceParent }, options),
      );
    };
  }

  /** Chain observations about a session: separate traces, linked to the request that created it. */
  deposits<Facts, Recorded, Confirmed, Reverted>(deposits: DepositCalls<Facts, Recorded, Confirmed, Reverted>): void {
    const record = deposits.record.bind(deposits);
    const move = deposits.move.bind(deposits);
    const confirm = deposits.confirm.bind(deposits);
    const revert = deposits.revert.bind(deposits);
    deposits.record = (id, facts) => this.#ofSession('deposit seen', id, () => record(id, facts));
    deposits.move = (id, facts, head) => this.#ofSession('deposit moved', id, () => move(id, facts, head));
    deposits.confirm = (id, data, network) => this.#ofSession('deposit final', id, () => confirm(id, data, network));
    deposits.revert = (id, data, network) => this.#ofSession('deposit reverted', id, () => revert(id, data, network));
  }

  /** Gives each attempt a span linked to what scheduled it; the receiver gets the span's context. */
  sender(inner: WebhookSender, headerPrefix: string): WebhookSender {
    return {
      send: async (request) => {
        const eventId = headerOf(request.headers, `${headerPrefix}Event-ID`) ?? '';
        const cause = await this.#scheduledBy(eventId, request.body);
        const { hostname, port, protocol } = new URL(request.url);
        const facts = {
          'http.request.method': 'POST',
          'http.request.resend_count': request.attempt - 1,
          'server.address': hostname,
          'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
          'quittance.event_id': eventId,
          'quittance.event_type': headerOf(request.headers, `${headerPrefix}Event-Type`) ?? '',
        };
        return this.#within('webhook attempt', { kind: 'client', links: [cause], facts }, async (span) => {
          this.#remember(eventId, span.traceParent);
          const answer = await inner.send(withTraceParent(request, span.traceParent));
          judge(span, answer);
          return answer;
        });
      },
      close: () => inner.close(),
    };
  }

  /** What scheduled a notification; before its first attempt is recorded, the event that it reports. */
  async #scheduledBy(eventId: string, body: string): Promise<string | undefined> {
    const [scheduled] = await this.#store.readStream(deliveryStream(eventId as NotificationId), { limit: 1 });
    if (scheduled) return parentIn(scheduled);
    const { session_id: session } = (JSON.parse(body) as { data: { object: { session_id: string } } }).data.object;
    const events = await this.#store.readStream(sessionStream(session as SessionId));
    return parentIn(events.find((event) => event.metadata.includes(`"${eventId}"`)));
  }

  /** A span for each traced event, from its commit until readers see it. */
  async projections(caughtUpTo: (position: string) => Promise<boolean>): Promise<Subscription> {
    return this.#store.subscribe({
      name: 'projection-traces',
      after: await this.#store.head(),
      streamPrefixes: ['session-', 'delivery-'],
      onEvents: async (events) => {
        await caughtUpTo(must(events.at(-1)).position);
        for (const event of events) {
          const cause = parentIn(event);
          if (cause === undefined) continue;
          const facts = { 'quittance.stream': event.stream, 'quittance.event_type': event.type };
          this.#tracer.start('projection', { kind: 'consumer', links: [cause], startMs: event.atMs, facts }).end();
        }
      },
    });
  }

  #append(request: AppendRequest): Promise<AppendResult> {
    const parent = parentIn(request.events[0]) ?? this.#current.getStore()?.traceParent;
    const facts = {
      'quittance.stream': request.stream,
      'quittance.events': request.events.map(({ type }) => type).join(' '),
    };
    return this.#within('append', { kind: 'producer', parent, facts }, async (span) => {
      const result = await this.#store.append(request);
      if (!result.ok) span.fail('conflict');
      return result;
    });
  }

  async #ofSession<Result>(name: string, id: SessionId, work: () => Promise<Result>): Promise<Result> {
    const [created] = await this.#store.readStream(sessionStream(id), { limit: 1 });
    return this.#within(
      name,
      { kind: 'consumer', links: [parentIn(created)], facts: { 'quittance.session': id } },
      work,
    );
  }

  /** A delivery is scheduled long after, and independently of, the event it reports. */
  async #causeOf(
    stream: string,
    command: { readonly type: string },
    context: CommandContext,
  ): Promise<TraceParent | undefined> {
    if (command.type !== 'ScheduleDelivery' || !stream.startsWith('delivery-')) return undefined;
    const { sessionId } = (command as unknown as { delivery: { sessionId: SessionId } }).delivery;
    const events = await this.#store.readStream(sessionStream(sessionId));
    return parentIn(events.find(({ id }) => id === context.causationId));
  }

  #attemptOf(stream: string, command: { readonly type: string }): TraceParent | undefined {
    if (command.type !== 'RecordAttempt') return undefined;
    return this.#attempts.get(stream.slice('delivery-'.length));
  }

  #remember(eventId: string, traceParent: TraceParent): void {
    this.#attempts.set(eventId, traceParent);
    if (this.#attempts.size > MAX_ATTEMPTS) this.#attempts.delete(must(this.#attempts.keys().next().value));
  }

  async #within<Result>(name: string, options: SpanOptions, work: (span: Span) => Promise<Result>): Promise<Result> {
    const span = this.#tracer.start(name, options);
    addToLogContext({ traceId: traceIdOf(span.traceParent) });
    try {
      return await this.#current.run(span, () => work(span));
    } catch (error) {
      span.fail(error instanceof Error ? error.name : 'unknown');
      throw error;
    } finally {
      span.end();
    }
  }
}

function parentIn(event: Pick<RecordedEvent, 'metadata'> | undefined): TraceParent | undefined {
  return event && (JSON.parse(event.metadata) as EventMetadata).traceParent;
}

function headerOf(headers: readonly string[], name: string): string | undefined {
  const place = headers.findIndex((header, index) => index % 2 === 0 && header.toLowerCase() === name.toLowerCase());
  return place < 0 ? undefined : headers[place + 1];
}

const withoutHeader = (headers: readonly string[], name: string): string[] =>
  headers.filter((_, index) => must(headers[index - (index % 2)]).toLowerCase() !== name);

const withTraceParent = (request: WebhookRequest, traceParent: TraceParent): WebhookRequest => ({
  ...request,
  headers: [...request.headers, 'traceparent', traceParent],
});

function judge(span: Span, { status, fault }: WebhookAnswer): void {
  if (status !== null) span.add({ 'http.response.status_code': status });
  if (fault !== null) span.fail(fault);
  else if (status === null || status >= 400) span.fail(String(status ?? 'none'));
}
