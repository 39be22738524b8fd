import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import express from 'express';
import { createSessionBody } from '../../src/http/schemas/session.schema.ts';
import { announce } from './announce.ts';

/*
 * A plain express app that checks the same signature, parses with the same schema, answers a session and stores
 * nothing.
 */
const apiKey = process.env.BENCH_API_KEY!;
const secret = process.env.BENCH_API_SECRET!;
const app = express();

app.use(express.json({ verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }) }));

app.use((request, response, next) => {
  const timestamp = request.get('X-Service-Timestamp') ?? '';
  const nonce = request.get('X-Service-Nonce') ?? '';
  const signature = Buffer.from(request.get('X-Service-Signature') ?? '', 'hex');
  const { rawBody } = request as typeof request & { rawBody: Buffer };
  const expected = createHmac('sha256', secret).update(`${timestamp}.${nonce}.`).update(rawBody).digest();
  const known = request.get('Authorization') === `Bearer ${apiKey}`;
  const fresh = Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300;
  if (known && fresh && signature.length === expected.length && timingSafeEqual(signature, expected)) next();
  else response.status(401).json({ error: { code: 'authentication_failed' } });
});

app.post('/api/v1/checkout/sessions/create', (request, response) => {
  const parsed = createSessionBody.safeParse(request.body);
  if (!parsed.success) return void response.status(400).json({ error: { code: 'invalid_request' } });
  const order = parsed.data;
  const id = `cs_${randomBytes(20).toString('hex')}`;
  const created = Math.floor(Date.now() / 1000);
  response.json({
    id,
    amount_total: order.amount,
    currency: order.currency.toLowerCase(),
    payment_status: 'unpaid',
    created,
    expires_at: created + 1800,
    url: `http://127.0.0.1/pay/${id}`,
    line_items: order.line_items,
    tax_amount: order.tax_amount,
    shipping_amount: order.shipping_amount,
    metadata: { ...order.metadata, order_id: order.order_id },
  });
});

announce(app.listen(0, '127.0.0.1'));
