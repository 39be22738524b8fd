import type { Mutant } from './mutant.ts';

const CONNECTION = 'src/adapters/webhook-http/connection.ts';
const POOL = 'src/adapters/webhook-http/connection-pool.ts';
const EXCHANGE = 'src/adapters/webhook-http/exchange.ts';
const SENDER = 'src/adapters/webhook-http/sender.ts';
const URLS = 'src/adapters/webhook-http/url.ts';
const ADDRESSES = 'src/adapters/webhook-http/forbidden-addresses.ts';
const RESOLVER = 'src/adapters/webhook-http/host-resolver.ts';
const ATTEMPTS = 'src/features/webhooks/attempts.ts';
const HEALTH = 'projections/webhooks/work.projection.ts';
const LANES = 'src/features/webhooks/merchant-queues.ts';
const DISPATCHER = 'src/features/webhooks/dispatcher.ts';
const DECIDER = 'state-machines/webhook-delivery/delivery.decider.ts';

const mutant = (without: string, file: string, from: string, to: string, ...foundBy: string[]): Mutant => ({
  without,
  changes: [{ file, from, to }],
  foundBy,
});

/** Every hostile receiver that delivery is built against, W1 to W28; the names are those of the tests. */
export const WEBHOOK_MUTANTS: readonly Mutant[] = [
  mutant(
    'the deadline of an exchange',
    CONNECTION,
    'setTimeout(() => this.#exchange?.expire(), timeoutMs)',
    'setTimeout(() => undefined, timeoutMs)',
    ...[
      'W1: that accepts',
      'W2: that sends',
      'W3: that returns 200',
      'W6: .* costs no more',
      'W20: that took too long',
    ],
  ),
  mutant(
    'the mark of a body that was cut',
    EXCHANGE,
    'incomplete: status !== null',
    'incomplete: false',
    'W3: that returns',
    'W3: with an endless',
  ),
  mutant(
    'the bound of what is read',
    CONNECTION,
    'this.#readBefore > MAX_READ_BYTES',
    'this.#readBefore > Infinity',
    ...['W4:', 'a reason without end', 'a chunk line without end', 'chunks of one byte without end'],
  ),
  mutant(
    'counting what is read for each answer',
    CONNECTION,
    'this.#readBefore = this.#socket?.bytesRead ?? 0;',
    '',
    'as long as the bound again and again',
  ),
  mutant('the bound of what is kept', EXCHANGE, 'KEPT_BYTES - this.#keptBytes', 'Infinity', 'W4:'),
  mutant(
    'leaving bodies packed',
    EXCHANGE,
    'onResponseData(_: unknown, bytes: Uint8Array): void {',
    "onResponseData(_: unknown, packed: Uint8Array): void {\n    const bytes = packed[0] === 0x1f ? process.getBuiltinModule('node:zlib').gunzipSync(packed, { finishFlush: 2 }) : packed;",
    'W5:',
  ),
  mutant(
    'the bound of a head',
    CONNECTION,
    'MAX_HEAD_BYTES = 16 * 1024',
    'MAX_HEAD_BYTES = 16 * 1024 * 1024',
    'with a header of 17 KB',
    'headers of 17 KB',
  ),
  mutant(
    'staying where a redirect leads away',
    SENDER,
    'resolve(answerOf(',
    "if (ending.status! >= 300 && ending.status! < 400 && !url.endsWith('/away'))\n          return void this.send({ merchantId, url: `${url}/away`, headers, body, attempt }).then(resolve);\n        resolve(answerOf(",
    ...['W8: a redirect', 'W8: is rejected'],
  ),
  mutant(
    'the bound of informational answers',
    EXCHANGE,
    'this.#informational > MAX_INFORMATIONAL',
    'this.#informational > Infinity',
    'W9: an unusual status',
  ),
  mutant(
    'telling 1xx from the answer',
    EXCHANGE,
    'if (status < 200) {',
    'if (status < 100) {',
    'W9: an unusual status',
  ),
  mutant(
    'retries after a lost connection',
    DECIDER,
    "if (fault !== null) return { course: 'retry', failure: fault };",
    "if (fault !== null) return { course: 'reject', failure: fault };",
    ...['W10: a reset', 'W9: an answer that is not HTTP', 'W13: to an endpoint'],
  ),
  mutant(
    'the retry of 429',
    DECIDER,
    "{ course: 'retry', failure: 'http_429' }",
    "{ course: 'reject', failure: 'http_429' }",
    'W11: 429',
  ),
  mutant(
    'the retry of 5xx',
    DECIDER,
    "{ course: 'retry', failure: 'http_5xx' }",
    "{ course: 'reject', failure: 'http_5xx' }",
    'W11: 500',
    'W11: follow',
  ),
  mutant(
    'the end at 4xx',
    DECIDER,
    "{ course: 'reject', failure: 'http_4xx' }",
    "{ course: 'retry', failure: 'http_4xx' }",
    'W11: do not follow',
  ),
  mutant('the growing pauses', DECIDER, '[SECOND, 2 * SECOND,', '[SECOND, SECOND,', 'W11: follow'),
  mutant('the cap of Retry-After', DECIDER, 'Math.min(retryAfterMs, schedule.retryAfterCapMs)', 'retryAfterMs', 'W12:'),
  mutant('respect for Retry-After', DECIDER, 'Math.min(retryAfterMs, schedule.retryAfterCapMs)', '0', 'W12:'),
  mutant(
    'upwards only of Retry-After',
    DECIDER,
    'Math.max(jittered, Math.min(',
    'retryAfterMs || (jittered, Math.min(',
    'W12:',
  ),
  mutant('the check of certificates', CONNECTION, 'rejectUnauthorized: true', 'rejectUnauthorized: false', 'W13: TLS'),
  {
    without: 'the bounds of a look-up',
    changes: [
      { file: RESOLVER, from: 'QUERY_TIMEOUT_MS = 1_000', to: 'QUERY_TIMEOUT_MS = 60_000' },
      {
        file: RESOLVER,
        from: "setTimeout(() => reject(new DnsFailure('ETIMEOUT')), timeoutMs)",
        to: 'setTimeout(() => undefined, timeoutMs)',
      },
    ],
    foundBy: ['W14: a name'],
  },
  mutant(
    'the check of addresses when connecting',
    CONNECTION,
    'if (reason !== null) throw',
    'if (reason === address) throw',
    ...['W15: .* behind a harmless name', 'W15: to a name', 'W16: one private', 'W16: a private IPv6'],
  ),
  mutant(
    'the check of every address of a name',
    CONNECTION,
    'for (const address of addresses) {',
    'for (const address of addresses.slice(0, 1)) {',
    ...['W16: one private', 'W16: a private IPv6'],
  ),
  mutant(
    'pinning the address that was checked',
    CONNECTION,
    'const address = this.#pin(isAddress ? [host] : await this.#rules.resolve(host));',
    'this.#pin(isAddress ? [host] : await this.#rules.resolve(host));\n    const address = isAddress ? host : (await this.#rules.resolve(host))[0]!;',
    'W15: a name whose address turns bad',
  ),
  mutant(
    'memory of origins that end kept connections',
    POOL,
    'if (isLost && lease.isReused) this.#unkept.set(lease.origin, nowMs + UNKEPT_MS);',
    '',
    'fails one delivery, not every other one',
  ),
  mutant(
    'connections of one merchant alone',
    POOL,
    'this.#idleOf.get(merchantId);',
    'this.#idleOf.values().next().value;',
    'is never shared between merchants',
  ),
  mutant(
    'the check of addresses in a URL',
    URLS,
    'return reason === null ? null : `points',
    'return reason === reason ? null : `points',
    'which is a forbidden address',
  ),
  mutant(
    'the plain form of an IPv4 address',
    URLS,
    'if (family === 4 && written !== host)',
    'if (family === 4 && written === null)',
    'which is not a public host',
  ),
  mutant(
    'names of the own network',
    URLS,
    'PRIVATE_SUFFIXES.some(',
    'false && PRIVATE_SUFFIXES.some(',
    'which is not a public host',
  ),
  mutant(
    'the table of forbidden ranges',
    ADDRESSES,
    'const never = reasonIn(NEVER_RANGES, parsed);',
    'const never = reasonIn([], parsed);',
    'which is a forbidden address',
  ),
  mutant(
    'https alone',
    URLS,
    "must(match[1]).toLowerCase() !== 'https' && !allowInsecure",
    'match[1] === null',
    'may not be "http://example.org:443',
    'W17, W18, W19: http:.*:443',
  ),
  mutant(
    'the refusal of user names',
    URLS,
    "must(match[2]).includes('@')",
    'match[2] === null',
    'may not be "https://a@b',
    'W17, W18, W19:',
  ),
  mutant(
    'the allowed ports',
    URLS,
    'return allowed ? null',
    'return allowed !== null ? null',
    'may not be "https://example.org:22',
  ),
  mutant(
    'the refusal of our own hosts',
    URLS,
    'return own ?',
    'return own === null ?',
    'may not be "https://pay.shop.com',
  ),
  mutant(
    'the second check of a URL, at delivery',
    SENDER,
    'const vetted = vetWebhookUrl(url, this.#options);',
    'const vetted = { ok: true as boolean, url, reason: vetWebhookUrl.name };',
    'W17, W18, W19: .* is blocked again',
  ),
  mutant(
    'indifference to what a 2xx says',
    ATTEMPTS,
    'status: answer.status,',
    'status: /false|html/.test(String(Buffer.from(answer.body))) ? 500 : answer.status,',
    'W21:',
  ),
  mutant(
    'that a success clears failures',
    HEALTH,
    'if (attempt.failure === null) return null;',
    'if (attempt.failure === null) return before;',
    'W22:',
  ),
  mutant(
    'the bound of attempts in flight for one endpoint',
    LANES,
    'merchantQueue.inFlight >= this.#limits.inFlightPerMerchant ||',
    '',
    ...['W1: an endpoint that hangs', 'W23:'],
  ),
  mutant(
    'the pace of a drain',
    LANES,
    'merchantQueue.nextPacedAtMs = Math.max(nowMs, merchantQueue.nextPacedAtMs) + 1_000 / this.#limits.pacePerSec;',
    '',
    ...['W24: that comes back', 'W24: delivers'],
  ),
  mutant(
    'one attempt of a delivery at a time',
    DISPATCHER,
    'if (job.running) job.recheck = true;',
    'if (job.running) this.#merchantQueues.add({ ...job, state: null, running: false, ordered: false });',
    ...['W25: .* asked for while', 'W25: .* never overlap'],
  ),
  mutant(
    'the endpoint as it is now',
    ATTEMPTS,
    'const endpoint = directory.endpointOf(queueOf(scheduled));',
    'const kept = globalThis as { kept?: WebhookEndpoint | null };\n  const endpoint = (kept.kept ??= directory.endpointOf(queueOf(scheduled)));',
    ...['W26: that was removed', 'W26: that moved'],
  ),
  mutant(
    'the check of signatures',
    'src/http/authentication.ts',
    'return timingSafeEqual(',
    'return true || timingSafeEqual(',
    'W27:',
  ),
  mutant(
    'making answers inert',
    'src/features/webhooks/views.ts',
    'text.replace(ACTIVE,',
    'text.replace(/$^/,',
    'W28, W7:',
  ),
];
