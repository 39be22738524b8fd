import { rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: OtlpValue }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
}

const CLIENT_TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENT_SPAN = '00f067aa0ba902b7';

let collector: Server;
let sandbox: RunningSandbox;
let receiver: WebhookReceiver;
let webhookTraceParent = '';
let sessionId = '';
const spans: OtlpSpan[] = [];
const resources: string[] = [];

const attribute = (span: OtlpSpan, key: string): string | undefined => {
  const value = span.attributes.find((candidate) => candidate.key === key)?.value;
  return value?.stringValue ?? (value?.intValue === undefined ? undefined : String(value.intValue));
};
const named = (name: string): OtlpSpan[] => spans.filter((span) => span.name === name);
const childrenOf = ({ spanId }: OtlpSpan): OtlpSpan[] => spans.filter(({ parentSpanId }) => parentSpanId === spanId);
const linksTo = (span: OtlpSpan, target: OtlpSpan): boolean =>
  (span.links ?? []).some(({ spanId, traceId }) => spanId === target.spanId && traceId === target.traceId);
/** Of the webhook that tells of it. */
const attemptsOf = (confirm: OtlpSpan): OtlpSpan[] => named('webhook attempt').filter((span) => linksTo(span, confirm));

beforeAll(async () => {
  collector = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as {
        resourceSpans: {
          resource: { attributes: { key: string; value: OtlpValue }[] };
          scopeSpans: { spans: OtlpSpan[] }[];
        }[];
      };
      for (const { resource, scopeSpans } of body.resourceSpans) {
        resources.push(resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '');
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done));
  receiver = await startWebhookReceiver();
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  sandbox = await startRunningSandbox({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, SANDBOX_NETWORKS: 'ethereum' } });
  const { merchant, base_url: base } = sandbox.facts;
  const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    signedCall(base, merchant, method, path, body, headers);
  const endpointSet = await call('PATCH', '/v1/merchant', { webhook: { url: receiver.url } });
  expect(endpointSet.status).toBe(200);
  const created = await call(
    'POST',
    '/api/v1/checkout/sessions/create',
    { amount: '12.50', currency: 'USDT', order_id: 'traced' },
    { traceparent: `00-${CLIENT_TRACE}-${CLIENT_SPAN}-01` },
  );
  sessionId = created.json.id as string;
  expect((await call('POST', `/v1/sandbox/sessions/${sessionId}/pay`, { network: 'ethereum' })).status).toBe(200);
  const webhook = await eventually('the webhook', async () =>
    receiver.received.find(({ body }) => body.type === 'payment.completed'),
  );
  webhookTraceParent = webhook.headers.traceparent as string;
  const refund = await call('POST', '/v1/refunds', { session_id: sessionId });
  await eventually('the refund', async () => {
    const { json } = await call('GET', `/v1/refunds/${String(refund.json.id)}`);
    return json.status === 'COMPLETED';
  });
  await eventually(
    'the last span',
    // Other webhooks than the payment's may have been attempted before.
    async () =>
      named('projection').length > 2 &&
      named('ConfirmDeposits').some((confirm) => attemptsOf(confirm).some((attempt) => childrenOf(attempt).length > 0)),
  );
}, 120_000);

afterAll(async () => {
  await sandbox?.stop();
  await receiver?.close();
  collector?.closeAllConnections();
  collector?.close();
  if (sandbox) rmSync(sandbox.dataDir, { recursive: true, force: true });
});

describe('the trace of one payment', () => {
  it('continues the trace of the merchant through request, command and append', () => {
    const [request] = named('POST createPaymentSession');
    expect(request).toMatchObject({ traceId: CLIENT_TRACE, parentSpanId: CLIENT_SPAN, kind: 2 });
    expect([attribute(request!, 'http.request.method'), attribute(request!, 'http.response.status_code')]).toEqual([
      'POST',
      '200',
    ]);
    const [command] = childrenOf(request!).filter(({ name }) => name === 'CreateSession');
    expect(attribute(command!, 'quittance.stream')).toBe(`session-${sessionId}`);
    const [append] = childrenOf(command!).filter(({ name }) => name === 'append');
    expect(attribute(append!, 'quittance.events')).toBe('SessionCreated');
  });

  it('links what the chain reports, in traces of its own, to the request that created the session', () => {
    const [created] = named('CreateSession');
    for (const name of ['deposit seen', 'deposit final']) {
      const [span] = named(name);
      expect(span!.parentSpanId ?? '').toBe('');
      expect(span!.traceId).not.toBe(CLIENT_TRACE);
      expect(linksTo(span!, created!)).toBe(true);
    }
    const [final] = named('deposit final');
    const [confirm] = childrenOf(final!);
    expect(confirm!.name).toBe('ConfirmDeposits');
    expect(childrenOf(confirm!).map((span) => attribute(span, 'quittance.events'))).toEqual([
      'DepositConfirmed SessionPaid',
    ]);
  });

  it('links the webhook to the payment and passes its context to the receiver', () => {
    const [confirm] = named('ConfirmDeposits');
    const [attempt] = attemptsOf(confirm!);
    expect(attempt!.parentSpanId ?? '').toBe('');
    expect(attempt).toMatchObject({ kind: 3 });
    expect([attribute(attempt!, 'server.address'), attribute(attempt!, 'http.response.status_code')]).toEqual([
      '127.0.0.1',
      '200',
    ]);
    expect(webhookTraceParent).toBe(`00-${attempt!.traceId}-${attempt!.spanId}-01`);
    expect(childrenOf(attempt!).map(({ name }) => name)).toEqual(['RecordAttempt']);
  });

  it('shows when readers saw an event', () => {
    const [created] = named('CreateSession');
    const projection = named('projection').find((span) => linksTo(span, created!));
    expect(attribute(projection!, 'quittance.event_type')).toBe('SessionCreated');
    expect(BigInt(projection!.endTimeUnixNano) >= BigInt(projection!.startTimeUnixNano)).toBe(true);
  });

  it('is named by the lines of the log about the session, from its creation to its refund', async () => {
    const lines = sandbox
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{') && line.includes(`"session":"${sessionId}"`))
      .map((line) => JSON.parse(line) as { msg: string; traceId?: string; events?: string; actor?: string });
    const traceOf = (what: string) => lines.find(({ msg, events }) => (events ?? msg).includes(what))?.traceId;
    expect(traceOf('SessionCreated')).toBe(CLIENT_TRACE);
    expect(traceOf('DepositConfirmed SessionPaid')).toBe(named('ConfirmDeposits')[0]!.traceId);
    expect(lines.map(({ events, actor }) => [events, actor])).toContainEqual(['DepositDetected', 'chain:ethereum']);
    for (const what of ['DeliveryScheduled', 'RefundRequested', 'a refund payout was sent', 'RefundCompleted'])
      expect(traceOf(what), what).toMatch(/^[0-9a-f]{32}$/);
  });

  it('names the service and contains no secret', () => {
    expect(new Set(resources)).toEqual(new Set(['quittance']));
    const told = JSON.stringify(spans);
    const { api_key: key, api_secret: secret, webhook_secret: webhookSecret } = sandbox.facts.merchant;
    for (const hidden of [key, secret, webhookSecret]) expect(told.includes(hidden)).toBe(false);
  });

  it('are named in the histogram buckets they belong to, where OpenMetrics is requested', async () => {
    const metrics = async (accept: string): Promise<string> => {
      const answer = await fetch(`${sandbox.facts.ops_url}/metrics`, { headers: { accept } });
      expect(answer.headers.get('content-type')).toContain(accept.split(';')[0]);
      return answer.text();
    };
    const figures = await metrics('application/openmetrics-text;version=1.0.0');
    for (const name of ['http_request_duration', 'block_to_paid', 'event_to_webhook_delivered']) {
      const named = [
        ...figures.matchAll(
          new RegExp(`^quittance_${name}_seconds_bucket\\{.*# \\{trace_id="([0-9a-f]{32})"\\}`, 'gm'),
        ),
      ];
      expect(named.length, name).toBeGreaterThan(0);
      // Spans are sent a second later.
      const areSent = () => named.every(([, id]) => spans.some(({ traceId }) => traceId === id));
      await eventually(`the traces that ${name} names`, async () => areSent());
    }
    expect(figures.trimEnd().endsWith('# EOF')).toBe(true);
    expect(await metrics('text/plain')).not.toContain('trace_id=');
  });
});
