import { createConfig, lintFromString } from '@redocly/openapi-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/domain/errors.ts';
import { WEBHOOK_TYPES } from '../../src/domain/notifications/types.ts';
import { FAKE_DESKS } from '../support/fake-executors.ts';
import { startTestServer, type TestAnswer, type TestServer } from '../support/http-api.ts';
import { schemaFaults } from '../support/json-schema.ts';

interface Media {
  readonly schema: Record<string, unknown>;
  readonly example?: unknown;
  readonly examples?: Record<string, { readonly value: unknown }>;
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': Media } };
  readonly responses: Record<
    string,
    { readonly description: string; readonly content: { readonly 'application/json': Media } }
  >;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly webhooks: Record<string, { readonly post: Operation }>;
  readonly components: {
    readonly schemas: Record<string, Record<string, unknown>>;
    readonly securitySchemes: Record<string, { readonly name?: string }>;
  };
}

let service: TestServer;
let document: Document;
beforeAll(async () => {
  service = await startTestServer(FAKE_DESKS);
  document = (await (await fetch(`${service.base}/openapi.json`)).json()) as Document;
});
afterAll(() => service.close());

const operations = (): { path: string; method: string; operation: Operation }[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

/** The answer is one that the document announces for the operation, and has the announced form. */
function expectDocumented(operationId: string, answer: TestAnswer): void {
  const { operation } = operations().find((one) => one.operation.operationId === operationId)!;
  const response = operation.responses[String(answer.status)];
  expect(response, `${operationId} ${answer.status} ${answer.text}`).toBeDefined();
  expect(schemaFaults(document, response!.content['application/json'].schema, answer.json)).toEqual([]);
  if (answer.status !== 200)
    expect(Object.keys(response!.content['application/json'].examples!)).toContain(answer.json.error.code);
}

describe('the OpenAPI document', () => {
  it('has nothing that a public linter complains about', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const problems = await lintFromString({
      source: JSON.stringify(document),
      absoluteRef: `${service.base}/openapi.json`,
      config,
    });
    expect(
      problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer ?? ''}: ${message}`),
    ).toEqual([]);
  });

  it('is version 3.1 and names every operation once', () => {
    expect(document.openapi).toBe('3.1.0');
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const path of [
      '/api/v1/checkout/sessions/create',
      '/api/v1/checkout/sessions/{id}',
      '/api/v1/checkout/sessions/{id}/cancel',
      '/v1/refunds',
      '/v1/payment/sessions',
      '/v1/transactions',
    ]) {
      expect(document.paths).toHaveProperty([path]);
    }
  });

  it('lists every public error code, each under its status', () => {
    const listed = new Map(
      operations().flatMap(({ operation }) =>
        Object.entries(operation.responses).flatMap(([status, { content }]) =>
          Object.keys(content['application/json'].examples ?? {}).map((code) => [code, Number(status)] as const),
        ),
      ),
    );
    // A path that is in the document is never answered with the wrong method.
    const expected = Object.entries(ERRORS).filter(([code]) => code !== 'method_not_allowed');
    expect([...listed].sort()).toEqual(expected.map(([code, { status }]) => [code, status] as const).sort());
    expect(document.components.schemas.Error).toMatchObject({
      properties: { error: { properties: { code: { enum: Object.keys(ERRORS) } } } },
    });
  });

  it('is also there as text: every operation, event, error and object, and a map whose links all lead somewhere', async () => {
    const textAt = async (path: string): Promise<string> => {
      const answer = await fetch(service.base + path);
      expect([path, answer.status]).toEqual([path, 200]);
      return answer.text();
    };
    const [map, reference, errors] = [
      await textAt('/llms.txt'),
      await textAt('/docs/reference.md'),
      await textAt('/docs/errors'),
    ];
    for (const { method, path } of operations()) {
      const named = `\`${method.toUpperCase()} ${path}\``;
      expect([named, map.includes(named), reference.includes(named)]).toEqual([named, true, true]);
    }
    for (const type of WEBHOOK_TYPES)
      expect([type, map.includes(`\`${type}\``), reference.includes(type)]).toEqual([type, true, true]);
    for (const code of Object.keys(ERRORS))
      expect([code, reference.includes(code), errors.includes(`id="${code}"`)]).toEqual([code, true, true]);
    for (const name of Object.keys(document.components.schemas))
      expect([name, reference.includes(name)]).toEqual([name, true]);
    const links = [...map.matchAll(/\]\(([^)]+)\)/g)].map(([, url]) => new URL(url!).pathname);
    expect(links).toHaveLength(4);
    for (const path of links) await textAt(path);
  });

  it('has an example for every operation, request and response, that matches its schema', () => {
    for (const { operation } of operations()) {
      const request = operation.requestBody?.content['application/json'];
      if (request && request.example !== undefined)
        expect([operation.operationId, schemaFaults(document, request.schema, request.example)]).toEqual([
          operation.operationId,
          [],
        ]);
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const { schema, example, examples } = content['application/json'];
        const given = examples ? Object.values(examples).map(({ value }) => value) : [example];
        expect(given.every((one) => one !== undefined)).toBe(true);
        for (const one of given)
          expect([operation.operationId, status, schemaFaults(document, schema, one)]).toEqual([
            operation.operationId,
            status,
            [],
          ]);
      }
    }
  });

  it('has every path parameter that a path names', () => {
    for (const { path, operation } of operations()) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      expect(operation.parameters?.filter((one) => one.in === 'path').map((one) => one.name) ?? []).toEqual(named);
    }
  });

  it('describes the signature headers under the configured prefix, and all webhooks', async () => {
    expect(document.components.securitySchemes.signature?.name).toBe('X-Service-Signature');
    expect(Object.keys(document.webhooks)).toEqual(WEBHOOK_TYPES);
    for (const [type, { post }] of Object.entries(document.webhooks)) {
      const { schema, example } = post.requestBody!.content['application/json'];
      expect([type, (example as { type: string }).type, schemaFaults(document, schema, example)]).toEqual([
        type,
        type,
        [],
      ]);
    }
    const other = await startTestServer({ headerPrefix: 'X-Shop-' });
    const text = await (await fetch(`${other.base}/openapi.json`)).text();
    await other.close();
    expect(text).toContain('X-Shop-Signature');
    expect(text).not.toContain('X-Service-');
  });

  it('leaves out what this server does not offer', async () => {
    const bare = await startTestServer();
    const { paths } = (await (await fetch(`${bare.base}/openapi.json`)).json()) as Document;
    await bare.close();
    expect(Object.keys(paths)).not.toContain('/v1/sandbox/sessions/{id}/pay');
  });

  it('is served from memory and not sent again when it is known', async () => {
    const first = await fetch(`${service.base}/openapi.json`);
    await first.body?.cancel();
    const again = await fetch(`${service.base}/openapi.json`, {
      headers: { 'If-None-Match': first.headers.get('etag')! },
    });
    expect([first.status, again.status]).toEqual([200, 304]);
  });

  it('is sent in the shortest form that the client accepts, each with its own tag', async () => {
    const ask = async (encoding: string) => {
      const answer = await fetch(`${service.base}/openapi.json`, { headers: { 'Accept-Encoding': encoding } });
      const { headers } = answer;
      return {
        json: await answer.json(),
        encoding: headers.get('content-encoding'),
        bytes: Number(headers.get('content-length')),
        etag: headers.get('etag'),
      };
    };
    const [plain, gzip, br] = [await ask('identity'), await ask('gzip'), await ask('gzip, br')];
    expect([plain.encoding, gzip.encoding, br.encoding]).toEqual([null, 'gzip', 'br']);
    expect(gzip.json).toEqual(plain.json);
    expect(br.json).toEqual(plain.json);
    expect(br.bytes).toBeLessThan(plain.bytes / 5);
    expect(new Set([plain.etag, gzip.etag, br.etag]).size).toBe(3);
  });
});

describe('every response matches the document', () => {
  it('for sessions', async () => {
    const create = (body: object) => service.call('POST', '/api/v1/checkout/sessions/create', body);
    const order = {
      amount: '10.00',
      currency: 'USD',
      order_id: 'documented',
      line_items: [{ price_data: { currency: 'USD', unit_amount: '10', product_data: { name: 'x' } } }],
    };
    const created = await create(order);
    expectDocumented('createPaymentSession', created);
    expectDocumented(
      'createPaymentSession',
      await create({ ...order, currency: 'USDC', order_id: 'coin', amounts_differ: true }),
    );
    expectDocumented('createPaymentSession', await create({ ...order, amount: '11.00' }));
    expectDocumented('createPaymentSession', await create({ ...order, amount: '11.00', amounts_differ: true }));
    expectDocumented('createPaymentSession', await create({ ...order, colour: 'red' }));
    expectDocumented(
      'createPaymentSession',
      await create({ ...order, currency: 'JPY', amount: '1', order_id: 'yen', amounts_differ: true }),
    );
    expectDocumented(
      'createPaymentSession',
      await service.call('POST', '/api/v1/checkout/sessions/create', ' '.repeat(300_000)),
    );
    expectDocumented(
      'createPaymentSession',
      await service.call('POST', '/api/v1/checkout/sessions/create', '{}', {
        headers: { 'Content-Type': 'text/plain' },
      }),
    );
    expectDocumented('getPaymentSession', await service.call('GET', `/api/v1/checkout/sessions/${created.json.id}`));
    expectDocumented('getPaymentSession', await service.call('GET', '/api/v1/checkout/sessions/nope'));
    expectDocumented(
      'getPaymentSession',
      await service.call('GET', '/api/v1/checkout/sessions/nope', undefined, { signature: '' }),
    );
    const other = await create({ ...order, order_id: 'to-cancel' });
    for (let i = 0; i < 2; i += 1)
      expectDocumented(
        'cancelPaymentSession',
        await service.call('POST', `/api/v1/checkout/sessions/${other.json.id}/cancel`),
      );
    service.api.pay(created.json.id);
    expectDocumented('getPaymentSession', await service.call('GET', `/api/v1/checkout/sessions/${created.json.id}`));
    expectDocumented(
      'cancelPaymentSession',
      await service.call('POST', `/api/v1/checkout/sessions/${created.json.id}/cancel`),
    );
    const refund = await service.call('POST', '/v1/refunds', { session_id: created.json.id });
    expectDocumented('createRefund', refund);
    expectDocumented(
      'createRefund',
      await service.call('POST', '/v1/refunds', {
        session_id: created.json.id,
        amount: { value: '1', currency: 'USDT' },
      }),
    );
    expectDocumented('getRefund', await service.call('GET', `/v1/refunds/${refund.json.id}`));
    service.api.failNext = new Error('bug');
    expectDocumented('createPaymentSession', await create(order));
  });

  it('for lists, settings, webhooks and the sandbox', async () => {
    const get = (path: string) => service.call('GET', path);
    const post = (path: string, body?: object) => service.call('POST', path, body);
    expectDocumented('listPaymentSessions', await get('/v1/payment/sessions'));
    expectDocumented('listRefunds', await get('/v1/refunds?page_size=0'));
    expectDocumented('listTransactions', await get('/v1/transactions?coin=eth&type=fee'));
    expectDocumented('getMerchant', await get('/v1/merchant'));
    expectDocumented(
      'changeMerchant',
      await service.call('PATCH', '/v1/merchant', {
        tolerance: '0.10',
        tolerance_percent: '0.5',
        webhook: { url: 'https://shop.example/hook' },
        domains: [{ host: 'shop.example', name: 'Shop' }],
      }),
    );
    expectDocumented('changeMerchant', await service.call('PATCH', '/v1/merchant', { session_ttl_seconds: 5 }));
    expectDocumented(
      'changeMerchant',
      await service.call('PATCH', '/v1/merchant', { webhook: { url: 'http://10.0.0.1/' } }),
    );
    expectDocumented('listWebhookDeliveries', await get('/v1/webhooks/deliveries?status=delivered'));
    const [delivery] = (await get('/v1/webhooks/deliveries')).json.data;
    expectDocumented('getWebhookDelivery', await get(`/v1/webhooks/deliveries/${delivery.id}`));
    expectDocumented('getWebhookDelivery', await get('/v1/webhooks/deliveries/evt_1'));
    expectDocumented('redeliverWebhook', await post(`/v1/webhooks/deliveries/${delivery.id}/redeliver`));
    expectDocumented('replayWebhooks', await post('/v1/webhooks/replay', { created_from: 1767225600 }));
    expectDocumented('replayWebhooks', await post('/v1/webhooks/replay', { created_from: 2, created_to: 1 }));
    expectDocumented('testWebhook', await post('/v1/webhooks/test', { event_type: 'refund.failed' }));
    expectDocumented('listWebhookEndpoints', await get('/v1/webhooks/endpoints'));
    expectDocumented('getWebhookEndpoint', await get('/v1/webhooks/endpoints/end_1'));
    expectDocumented('getWebhookEndpoint', await get('/v1/webhooks/endpoints/end_2'));
    expectDocumented('issueWebhookSecret', await post('/v1/webhooks/endpoints/end_1/secret'));
    expectDocumented('issueWebhookSecret', await post('/v1/webhooks/endpoints/end_1/secret', { magic: true }));
    expectDocumented('activateWebhookSecret', await post('/v1/webhooks/endpoints/end_1/secret/activate'));
    expectDocumented('activateWebhookSecret', await post('/v1/webhooks/endpoints/end_2/secret/activate'));
    expectDocumented('resumeWebhookEndpoint', await post('/v1/webhooks/endpoints/end_1/resume'));
    expectDocumented('listEvents', await get('/v1/events?page_size=5'));
    expect((await get('/v1/events?type=payment.completed,refund.failed&created_from=1&created_to=2')).status).toBe(200);
    for (const [query, param] of [
      ['type=payment.completed,magic', 'type'],
      ['type=', 'type'],
      ['created_from=soon', 'created_from'],
      ['created_from=2&created_to=1', 'created_to'],
    ]) {
      const refused = await get(`/v1/events?${query}`);
      expectDocumented('listEvents', refused);
      expect(refused.json.error.param).toBe(param);
    }
    expectDocumented('getEvent', await get(`/v1/events/${delivery.id}`));
    expectDocumented('getEvent', await get('/v1/events/evt_1'));
    expectDocumented('getEvent', await get('/v1/events/evt_1767225660123456999'));
    const session = await post('/api/v1/checkout/sessions/create', {
      amount: '1.00',
      currency: 'USD',
      order_id: 'sandbox',
    });
    expectDocumented('getSessionTimeline', await get(`/v1/payment/sessions/${session.json.id}/timeline`));
    expectDocumented('getSessionTimeline', await get('/v1/payment/sessions/nope/timeline'));
    expectDocumented('getLedgerBalances', await get('/v1/ledger/balances?as_of=2026-01-31'));
    expectDocumented('getLedgerBalances', await get('/v1/ledger/balances?as_of=2026-02-30'));
    expectDocumented('listLedgerEntries', await get('/v1/ledger/entries?clock=chain&page_size=5'));
    expectDocumented('listLedgerEntries', await get('/v1/ledger/entries?cursor=foreign'));
    expectDocumented('getSettlementReport', await get('/v1/ledger/settlement?from=2026-01-01&to=2026-01-31'));
    expectDocumented('getSettlementReport', await get('/v1/ledger/settlement?month=2026-01'));
    expectDocumented(
      'paySandboxSession',
      await post(`/v1/sandbox/sessions/${session.json.id}/pay`, { network: 'ethereum' }),
    );
    expectDocumented(
      'paySandboxSession',
      await post(`/v1/sandbox/sessions/${session.json.id}/pay`, { network: 'ethereum', case: 'magic' }),
    );
    expectDocumented('paySandboxSession', await post('/v1/sandbox/sessions/nope/pay', { network: 'ethereum' }));
    const advance = `/v1/sandbox/sessions/${session.json.id}/advance`;
    expect((await post(advance, {})).status).toBe(200);
    for (const seconds of [1, 0, -1, 1.5, '60', null, 10 ** 9])
      expectDocumented('advanceSandboxSession', await post(advance, { seconds }));
    expectDocumented('advanceSandboxSession', await post('/v1/sandbox/sessions/nope/advance', {}));
  });
});
