import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { startTestServer, type TestAnswer, type TestServer } from '../support/http-api.ts';
import { KNOWN_DOMAIN } from '../support/fake-merchant-api.ts';

const CREATE = '/api/v1/checkout/sessions/create';
let service: TestServer;
let orders = 0;
const body = (patch: object = {}) => ({
  amount: '10.00',
  currency: 'USD',
  order_id: `input-${(orders += 1)}`,
  ...patch,
});
const create = (patch: object = {}) => service.call('POST', CREATE, body(patch));
const send = (raw: string | Buffer) => service.call('POST', CREATE, raw);

beforeAll(async () => {
  service = await startTestServer();
});
afterAll(() => service.close());

/** Refused with a 400 that names the field, and nothing was stored or crashed. */
async function refused(answer: Promise<TestAnswer>, param: string, code = 'invalid_request'): Promise<void> {
  const before = service.api.sessions.size;
  const { status, json } = await answer;
  expect([status, json.error.code, json.error.param]).toEqual([400, code, param]);
  expect(json.error.message).toContain(param.slice(0, 100));
  expect(service.api.sessions.size).toBe(before);
}

const BAD_AMOUNTS = [
  '1e309',
  '1e1',
  'NaN',
  'Infinity',
  '-0',
  '-1',
  '+5',
  '0x10',
  '0b1',
  '1_000',
  '.5',
  '5.',
  '00.1',
  '01',
  '1,5',
  '1.2.3',
  '１２',
  '١٢',
  '',
  ' 1',
  '1 ',
  '1\n',
  '\u00a012',
  '12\ufeff',
  '9'.repeat(60),
  '1000000000000',
  `0.${'0'.repeat(60)}1`,
  '9'.repeat(200_000),
  null,
  1.5,
  10,
  true,
  [],
  ['1.00'],
  {},
];

describe('an amount is refused when it is', () => {
  it.each([...BAD_AMOUNTS, '0', '0.00', '10.001'].map((value) => [JSON.stringify(value).slice(0, 24), value]))(
    '%s',
    async (_, value) => refused(create({ amount: value }), 'amount'),
  );
  it.each(BAD_AMOUNTS.map((value) => [JSON.stringify(value).slice(0, 24), value]))('a tax of %s', async (_, value) =>
    refused(create({ tax_amount: value }), 'tax_amount'),
  );
  it('a shipping amount with more decimals than the currency', async () =>
    refused(create({ currency: 'JPY', amount: '100', shipping_amount: '1.0' }), 'shipping_amount'));
  it('a coin amount of 7 decimals', async () => refused(create({ currency: 'USDT', amount: '1.1234567' }), 'amount'));
  it('a dinar amount of 4 decimals, while 3 are fine', async () => {
    await refused(create({ currency: 'BHD', amount: '1.0001' }), 'amount');
    expect((await create({ currency: 'BHD', amount: '1.001' })).json.error.code).toBe('rate_unavailable');
  });
});

describe('a refund amount is refused when it is', () => {
  it.each([...BAD_AMOUNTS, '0'].map((value) => [JSON.stringify(value).slice(0, 24), value]))('%s', async (_, value) => {
    const { status, json } = await service.call('POST', '/v1/refunds', {
      session_id: 'cs_x',
      amount: { value, currency: 'USDT' },
    });
    expect([status, json.error.param]).toEqual([400, 'amount.value']);
  });
  it.each([['5.00'], [5], [null], [[]]])('%j in place of an object', async (amount) => {
    const { status, json } = await service.call('POST', '/v1/refunds', { session_id: 'cs_x', amount });
    expect([status, json.error.param]).toEqual([400, 'amount']);
  });
  it('finer than its currency', async () => {
    const { json } = await service.call('POST', '/v1/refunds', {
      session_id: 'cs_x',
      amount: { value: '1.1234567', currency: 'USDT' },
    });
    expect(json.error.param).toBe('amount.value');
  });
});

it.each([['txn_short'], ['re_k7w2q5m4n6p3r7s2t5v4x6y3z7'], [''], [7]])(
  'a refund of %j, which is no transaction, is refused by its field',
  async (id) => {
    const { status, json } = await service.call('POST', '/v1/refunds', {
      session_id: `cs_${'a'.repeat(32)}`,
      transaction_id: id,
    });
    expect([status, json.error.code, json.error.param]).toEqual([400, 'invalid_request', 'transaction_id']);
  },
);

describe('a field is refused and named', () => {
  it.each(['amount', 'currency', 'order_id'])('when %s is missing', async (field) =>
    refused(create({ [field]: undefined }), field),
  );
  it.each(
    ['ZZZ', 'US', 'BTC', 'XAU', '', ' USD', 'U\u017fD', 'USDTX', 'x'.repeat(100_000), 5, null, {}].map((value) => [
      JSON.stringify(value).slice(0, 20),
      value,
    ]),
  )('when currency is %s', async (_, value) => refused(create({ currency: value }), 'currency'));
  it.each([['BTC'], ['USD'], [''], [1]])('when target_currency is %j', async (value) =>
    refused(create({ target_currency: value }), 'target_currency'),
  );
  it.each([['x'.repeat(129)], [''], ['a\u0000b'], ['a\nb'], [7], [null]])('when order_id is %j', async (value) =>
    refused(create({ order_id: value }), 'order_id'),
  );
  it('when description has 1001 characters', async () =>
    refused(create({ description: 'x'.repeat(1001) }), 'description'));
  it('when merchant_domain_id is unknown', async () =>
    refused(create({ merchant_domain_id: 'nope' }), 'merchant_domain_id'));

  const priceData = { currency: 'USD', unit_amount: '1.00', product_data: { name: 'x' } };
  const items = (n: number) => Array.from({ length: n }, () => ({ price_data: priceData }));
  it.each([
    ['line_items', 'x'],
    ['line_items', items(101)],
    ['line_items[0]', ['x']],
    ['line_items[0].price_data', [{}]],
    ['line_items[0].price_data.product_data.name', [{ price_data: { ...priceData, product_data: {} } }]],
    ['line_items[0].price_data.unit_amount', [{ price_data: { ...priceData, unit_amount: '-1' } }]],
    ['line_items[0].price_data.currency', [{ price_data: { ...priceData, currency: 'NOPE' } }]],
    ['line_items[1].quantity', [{ price_data: priceData }, { price_data: priceData, quantity: 0 }]],
    ['line_items[0].quantity', [{ price_data: priceData, quantity: -1 }]],
    ['line_items[0].quantity', [{ price_data: priceData, quantity: '2' }]],
    ['line_items[0].quantity', [{ price_data: priceData, quantity: 1e300 }]],
    ['line_items[0].quantity', [{ price_data: priceData, quantity: 1e-7 }]],
    ['line_items[0].quantity', [{ price_data: priceData, quantity: 0.1 + 0.2 }]],
    ['line_items[0].quantity', [{ price_data: priceData, quantity: 1.1234567 }]],
  ])('when line items are wrong at %s', async (param, value) => refused(create({ line_items: value }), param));

  const priced = (unitAmount: string, quantity = 1, currency = 'USD') => ({
    price_data: { ...priceData, currency, unit_amount: unitAmount },
    quantity,
  });
  it.each([
    ['line_items', { line_items: [priced('9.00')] }],
    ['line_items', { line_items: [priced('10.00')], tax_amount: '1.00' }],
    ['line_items', { line_items: [priced('3.34', 3)] }],
    ['tax_amount', { tax_amount: '8.00', shipping_amount: '3.00' }],
    ['shipping_amount', { shipping_amount: '10.01' }],
  ])('when the parts do not add up to the amount, unless that is meant: %s %j', async (param, patch) => {
    const { status, json } = await create({ amount: '10.00', ...patch });
    expect([status, json.error.code, json.error.param]).toEqual([400, 'line_items_mismatch', param]);
    expect((await create({ amount: '10.00', amounts_differ: true, ...patch })).status).toBe(200);
  });

  it('but not for items in another currency, which cannot be added up', async () => {
    const others = [priced('5.00'), priced('5.00', 1, 'EUR')];
    expect((await create({ amount: '10.00', line_items: others })).status).toBe(200);
  });

  it('when another total than its parts make comes with a used order_id, as a conflict', async () => {
    const order = { order_id: 'used-order', line_items: [priced('10.00')] };
    expect((await create({ amount: '10.00', ...order })).status).toBe(200);
    const { status, json } = await create({ amount: '11.00', ...order });
    expect([status, json.error.code]).toEqual([409, 'order_id_conflict']);
  });

  const names = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 'v']));
  it.each([
    ['metadata', names(51)],
    ['metadata', 'x'],
    ['metadata', []],
    ['metadata', null],
    ['metadata.a', { a: 1 }],
    ['metadata.a', { a: null }],
    ['metadata.a', { a: 'v'.repeat(501) }],
    [`metadata.${'k'.repeat(41)}`, { ['k'.repeat(41)]: 'v' }],
    ['metadata.order_id', { order_id: 'mine' }],
  ])('when metadata is wrong at %s', async (param, value) => refused(create({ metadata: value }), param));
});

describe('a return URL is refused when it is', () => {
  it.each(
    [
      'javascript:alert(1)',
      ' JavaScript:alert(1)',
      'java\nscript:x',
      ' https://a.example',
      'https:evil.com',
      'https:\\\\evil.com',
      'https://evil.com\\@shop.example',
      'https:///evil.com',
      '//evil.com',
      'https://a@b.example',
      'https://a:b@c.example',
      'https://@b.example',
      'https://shop.example/a b',
      'https://shop.example/\u0000',
      'https://shop.example/\u007f',
      'https://',
      'https://[::1',
      'https://a..b\u0001',
      'http://shop.example',
      'http://localhost.evil.com',
      'http://127.0.0.1.evil.com',
      'ftp://a.example',
      'data:text/html,x',
      `https://shop.example/${'a'.repeat(2040)}`,
      `https://shop.example/${'é'.repeat(1000)}`,
      'x'.repeat(200_000),
      5,
      null,
    ].map((value) => [JSON.stringify(value).slice(0, 40), value]),
  )('%s', async (_, value) => {
    await refused(create({ success_url: value }), 'success_url');
    await refused(create({ cancel_url: value }), 'cancel_url');
  });

  it('http for this machine in live mode, while test mode accepts it', async () => {
    expect((await create({ success_url: 'http://localhost:3000/ok' })).status).toBe(200);
    expect((await create({ success_url: 'http://127.0.0.1/ok' })).status).toBe(200);
    const live = service.keys.add({ ...service.key, apiKey: 'sk_live_0123456789abcdef', mode: 'live' });
    await refused(
      service.call('POST', CREATE, body({ success_url: 'http://localhost:3000/ok' }), { key: live }),
      'success_url',
    );
  });

  it('stored in its normal form otherwise', async () => {
    const { json } = await create({ success_url: 'HTTPS://Shop.Example/a/../b?q=1#x' });
    expect(json.success_url).toBe('https://shop.example/b?q=1#x');
  });

  it('keeps the placeholders of a return URL, and refuses others', async () => {
    const url = 'https://shop.example/{ORDER_ID}/ok?s={SESSION_ID}&x={lower}';
    const { json } = await create({ success_url: url, cancel_url: url });
    expect([json.success_url, json.cancel_url]).toEqual([url, url]);
    for (const other of ['{CHECKOUT_SESSION_ID}', '{session_ID}{SESSION}'])
      await refused(create({ success_url: `https://shop.example/?s=${other}` }), 'success_url');
    await refused(create({ cancel_url: 'https://{ORDER_ID}.shop.example/' }), 'cancel_url');
  });
});

describe('a body is refused when it', () => {
  it('holds an unknown field, at any depth', async () => {
    await refused(create({ payment_status: 'paid' }), 'payment_status', 'unknown_field');
    await refused(
      create({
        line_items: [{ price_data: { currency: 'USD', unit_amount: '1.00', product_data: { name: 'x', sku: '1' } } }],
      }),
      'line_items[0].price_data.product_data.sku',
      'unknown_field',
    );
    const refund = await service.call('POST', '/v1/refunds', { session_id: 'cs_x', to_address: '0x1' });
    expect([refund.status, refund.json.error.code, refund.json.error.param]).toEqual([
      400,
      'unknown_field',
      'to_address',
    ]);
  });

  it('holds 20,000 unknown fields, without a slow path or a huge response', async () => {
    const answer = await create(Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`field${i}`, 1])));
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(1000);
    const more = await send(`{${Array.from({ length: 20_000 }, (_, i) => `"f${i}":1`).join(',')}}`);
    expect(more.status).toBe(400);
    expect(more.text.length).toBeLessThan(1000);
  });

  it.each([
    ['is broken', '{"amount":'],
    ['is empty', ''],
    ['is blank', '   '],
    ['is an array', '[]'],
    ['is a string', '"x"'],
    ['is null', 'null'],
    ['is a number', '5'],
    ['has a trailing comma', '{"amount":"1.00",}'],
    ['has single quotes', "{'amount':'1.00'}"],
    ['has a comment', '{/**/}'],
    ['has two values', '{} {}'],
    ['holds NaN', '{"amount":NaN}'],
    ['starts with a byte order mark', '\ufeff{}'],
  ])('%s', async (_, raw) => {
    const { status, json } = await send(raw);
    expect([status, json.error.code, json.error.param]).toEqual([400, 'invalid_request', 'body']);
  });

  it.each([
    ['UTF-16', Buffer.from('{"amount":"1.00"}', 'utf16le')],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['an overlong form', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    [
      'a surrogate in UTF-8',
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
  ])('is %s', async (_, bytes) => {
    const { status, json } = await send(bytes);
    expect([status, json.error.param]).toEqual([400, 'body']);
  });

  it('escapes a lone surrogate, so that two order ids cannot become one', async () => {
    await refused(send('{"amount":"1.00","currency":"USD","order_id":"a\\ud800"}'), 'order_id');
    const key = await send('{"amount":"1.00","currency":"USD","order_id":"a","metadata":{"\\udc00":"x"}}');
    expect([key.status, key.json.error.code]).toEqual([400, 'invalid_request']);
    expect((await create({ order_id: 'emoji \u{1f600}' })).status).toBe(200);
  });

  it.each([
    ['at the top', '{"amount":"1.00","amount":"2.00","currency":"USD","order_id":"d1"}', 'amount'],
    ['written another way', '{"amount":"1.00","am\\u006funt":"2.00","currency":"USD","order_id":"d2"}', 'amount'],
    ['deeper down', '{"amount":"1.00","currency":"USD","order_id":"d3","metadata":{"a":"1","b":"2","a":"3"}}', 'a'],
    [
      'with strings full of braces and quotes',
      '{"amount":"1.00","currency":"USD","order_id":"d4","metadata":{"a":"{\\"a\\":1}:","b":":","b":"}"}}',
      'b',
    ],
  ])('repeats a key %s', async (_, raw, param) => refused(send(raw), param));

  it.each(['__proto__', 'constructor', 'prototype'])('has the key %s anywhere', async (key) => {
    await refused(send(`{"amount":"1.00","currency":"USD","order_id":"p","${key}":{"admin":true}}`), key);
    await refused(
      send(`{"amount":"1.00","currency":"USD","order_id":"p","metadata":{"${key}":"x"}}`),
      `metadata.${key}`,
    );
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  it('is nested deeper than 8 levels, however deep', async () => {
    for (const depth of [9, 100, 100_000]) await refused(send('['.repeat(depth) + ']'.repeat(depth)), 'body');
  });

  it('holds a huge array, which is named', async () =>
    refused(
      send(`{"amount":"1.00","currency":"USD","order_id":"h","line_items":[${'1,'.repeat(100_000)}1]}`),
      'line_items[3995]',
    ));
});

describe('a body is accepted', () => {
  it('with everything at its limit', async () => {
    const item = { price_data: { currency: 'usd', unit_amount: '1.00', product_data: { name: 'x' } } };
    const names = Object.fromEntries(Array.from({ length: 49 }, (_, i) => [`k${i}`, 'v']));
    const { status, json } = await create({
      order_id: 'o'.repeat(128),
      description: 'd'.repeat(1000),
      merchant_domain_id: KNOWN_DOMAIN,
      metadata: { ...names, ['k'.repeat(40)]: 'v'.repeat(500) },
      line_items: Array.from({ length: 100 }, () => item),
      success_url: `https://shop.example/${'a'.repeat(2027)}`,
      amount: '999999999999.99',
      amounts_differ: true,
    });
    expect(status).toBe(200);
    expect([json.line_items.length, Object.keys(json.metadata).length, json.amount_total]).toEqual([
      100,
      51,
      '999999999999.99',
    ]);
    expect(json.line_items[0]).toEqual({ ...item, quantity: 1 });
  });

  it('with text in any script, echoed byte for byte', async () => {
    const text = '東京 “shop” <script>alert(1)</script> \u202e \u{1f469}\u200d\u{1f680}';
    const { json } = await create({ description: text, metadata: { note: text } });
    expect([json.description, json.metadata.note]).toEqual([text, text]);
  });
});

describe('a query parameter is refused and named', () => {
  it.each([
    ['page', 'page=0'],
    ['page', 'page=-1'],
    ['page', 'page=x'],
    ['page', 'page=1.5'],
    ['page', 'page=%EF%BC%91'],
    ['page', `page=${'9'.repeat(5000)}`],
    ['page_size', 'page_size=0'],
    ['page_size', 'page_size=101'],
    ['page_size', 'page_size=1e2'],
    ['page_size', 'page_size='],
    ['page', 'page=1&page=2'],
    ['cursor', `cursor=${'c'.repeat(600)}`],
    ['status', 'status=nope'],
    ['network', 'network=bitcoin'],
    ['coin', 'coin=BTC'],
    ['created_from', 'created_from=yesterday'],
    ['created_to', 'created_to=-1'],
    ['order_id', 'order_id=%00'],
    ['order_id', 'order_id=%ff'],
    ['order_id', `order_id=${'o'.repeat(129)}`],
    ['metadata', 'metadata=c-1042'],
    ['metadata[a]', 'metadata[a]=1&metadata[a]=2'],
    ['metadata[a]', 'metadata=1&metadata[a]=2'],
    ['metadata', 'metadata[a]=1&metadata=2'],
    ['metadata[]', 'metadata[]=1'],
    ['metadata[__proto__]', 'metadata[__proto__]=1'],
    ['metadata[order_id]', 'metadata[order_id]=1'],
    ['metadata[a]', `metadata[a]=${'v'.repeat(501)}`],
    [`metadata[${'k'.repeat(41)}]`, `metadata[${'k'.repeat(41)}]=1`],
    ['metadata', Array.from({ length: 11 }, (_, key) => `metadata[${key}]=1`).join('&')],
    ['order_id', 'order_id[a]=1'],
    ['expand', 'expand='],
    ['expand', 'expand=refunds,refunds'],
    ['expand', 'expand=timeline'],
  ])('%s by ?%s', async (param, query) => {
    const { status, json } = await service.call('GET', `/v1/payment/sessions?${query}`);
    expect([status, json.error.code, json.error.param]).toEqual([400, 'invalid_request', param]);
  });

  it('when it is unknown', async () => {
    const { status, json } = await service.call('GET', '/v1/transactions?colour=red');
    expect([status, json.error.code, json.error.param]).toEqual([400, 'unknown_field', 'colour']);
    for (const [path, param] of [
      ['/v1/payment/sessions?colour[a]=red', 'colour'],
      ['/v1/transactions?metadata[a]=red', 'metadata'],
      ['/v1/refunds/re_none?colour=red', 'colour'],
      [`/api/v1/checkout/sessions/cs_${'a'.repeat(32)}?colour=red`, 'colour'],
    ] as const) {
      const answer = await service.call('GET', path);
      expect([answer.status, answer.json.error.code, answer.json.error.param]).toEqual([400, 'unknown_field', param]);
    }
  });
});

describe('an Idempotency-Key', () => {
  it.each([[''], ['k'.repeat(256)], ['\u00e9']])('of %j is refused', async (value) => {
    const { status, json } = await service.call('POST', CREATE, body(), { headers: { 'Idempotency-Key': value } });
    expect([status, json.error.param]).toEqual([400, 'Idempotency-Key']);
  });

  it('reaches the command', async () => {
    expect(
      (await service.call('POST', CREATE, body(), { headers: { 'Idempotency-Key': 'k'.repeat(255) } })).status,
    ).toBe(200);
    expect(service.api.callers.at(-1)?.idempotencyKey).toBe('k'.repeat(255));
  });
});

it.each([
  ['amount', 5],
  ['amount', null],
  ['order_id', false],
  ['line_items', 'mug'],
  ['metadata', []],
])('%s of the wrong type is refused with its rule, not as missing', async (field, value) => {
  const { status, json } = await create({ [field]: value });
  expect([status, json.error.param]).toEqual([400, field]);
  expect(json.error.message).toMatch(new RegExp(`^${field} must `));
});

it('a missing field is reported', async () => {
  const { json } = await service.call('POST', CREATE, { currency: 'USD', order_id: 'o' });
  expect(json.error.message).toMatch(/^amount is required and must /);
});

describe('routing', () => {
  it('returns 404 JSON for an unknown path, inside the API and outside', async () => {
    for (const path of [
      '/api/v1/nothing',
      '/v1/nothing',
      '/v1/refunds/',
      '/api/v1/refunds',
      '/v1/checkout/sessions/create',
      '/nothing',
      '/V1/refunds',
    ]) {
      const { status, json, headers } = await service.call('GET', path);
      expect([path, status, json.error.code]).toEqual([path, 404, 'not_found']);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });

  it('returns 405 with Allow if another method exists', async () => {
    const { status, json, headers } = await service.call('DELETE', '/v1/refunds');
    expect([status, json.error.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', 'POST, GET']);
    expect((await service.call('PUT', CREATE, '{}')).status).toBe(405);
    // Reading a session takes any last part of the path for an id.
    const create = await service.call('GET', CREATE);
    expect([create.status, create.json.error.code, create.headers.get('allow')]).toEqual([
      405,
      'method_not_allowed',
      'POST',
    ]);
  });
});

describe('a failure of the service', () => {
  it('outside the API returns 503 while the store is unavailable, so that browsers try again', async () => {
    const away = await startTestServer({
      mounts: [(app) => app.get('/pay/:id', () => Promise.reject(new StoreUnavailable('secret detail')))],
    });
    try {
      const response = await fetch(`${away.base}/pay/cs_1`);
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await response.text()).not.toContain('secret detail');
    } finally {
      await away.close();
    }
  });

  it('is a 500 that says nothing of its cause, and is logged under the same request id', async () => {
    service.api.failNext = new Error('secret detail');
    const { status, text, json } = await create();
    expect([status, json.error.code]).toEqual([500, 'internal_error']);
    expect(text).not.toContain('secret detail');
    expect(service.logged.find(({ level }) => level === 'error')?.fields).toMatchObject({
      requestId: json.error.request_id,
      operation: 'createPaymentSession',
    });
  });
});
