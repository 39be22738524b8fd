import { describe, expect, it } from 'vitest';
import { createLogger, onLogLine } from '../../../src/observability/logger.ts';
import { plainError, withoutSecrets } from '../../../src/observability/plain-error.ts';

const KEY = `sk_test_${'a'.repeat(40)}`;
const SECRET = `sks_live_${'b'.repeat(40)}`;
const WEBHOOK_SECRET = `whs_test_${'c'.repeat(40)}`;

function logged(write: (log: ReturnType<typeof createLogger>) => void): {
  text: string;
  lines: Record<string, unknown>[];
} {
  const printed: string[] = [];
  const log = createLogger('debug', { write: (line) => void printed.push(line) });
  write(log);
  return { text: printed.join(''), lines: printed.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('log lines', () => {
  it('are JSON with level as a word, time and message', () => {
    const { lines } = logged((log) => log.info({ requestId: 'req_1', session: 'cs_1', merchant: 'mer_1' }, 'hello'));
    expect(lines).toMatchObject([
      { level: 'info', msg: 'hello', requestId: 'req_1', session: 'cs_1', merchant: 'mer_1' },
    ]);
    expect(Number.isNaN(Date.parse(lines[0]!.time as string))).toBe(false);
  });

  it('censor fields whose names indicate a secret or personal data', () => {
    const names = [
      'authorization',
      'apiSecret',
      'api_key',
      'mnemonic',
      'token',
      'headers',
      'body',
      'metadata',
      'description',
      'email',
    ];
    for (const name of names) {
      const { text } = logged((log) =>
        log.info({ [name]: 'hidden-1', inner: { [name]: 'hidden-2', deeper: { [name]: 'hidden-3' } } }, 'x'),
      );
      expect(text, name).not.toContain('hidden');
    }
  });

  it('censor at any depth, in lists and in errors under any name, and end where a value contains itself', () => {
    const circle: Record<string, unknown> = { secret: SECRET };
    circle['again'] = circle;
    const failed = Object.assign(new Error(`failed with ${SECRET}`), { config: { secret: SECRET } });
    const list = [{ a: { b: { c: { email: 'hidden' } } } }, failed];
    const { text, lines } = logged((log) => log.info({ list, circle, failed, err: `thrown ${SECRET}` }, 'x'));
    for (const hidden of ['hidden', SECRET, 'config']) expect(text).not.toContain(hidden);
    expect(lines[0]).toMatchObject({ failed: { type: 'Error' }, err: 'thrown sks_live_[redacted]' });
  });

  it('hide credentials in every text, and URLs, bytes and what describes itself', () => {
    const fields = {
      detail: `esdb://admin:hunter2@store:2113 refused ${KEY} at https://rpc.example/v3/provider-key`,
      url: new URL('https://user:hunter2@rpc.example/v3/provider-key'),
      nested: [{ store: 'redis://:hunter2@cache:6379/0' }],
      bytes: { key: Buffer.from('hunter2'), raw: new Uint8Array([1, 2]).buffer },
      described: { toJSON: () => ({ password: 'hunter2', said: `Bearer hunter2` }) },
      at: new Date(0),
    };
    const { text, lines } = logged((log) => log.info(fields, 'x'));
    for (const hidden of ['hunter2', KEY, 'provider-key', '104,117']) expect(text).not.toContain(hidden);
    expect(lines[0]).toMatchObject({
      detail: 'esdb://[redacted]@store:2113 refused sk_test_[redacted] at https://rpc.example/…',
      nested: [{ store: 'redis://[redacted]@cache:6379/0' }],
      at: '1970-01-01T00:00:00.000Z',
    });
  });

  it('are written whatever somebody throws or hands over', () => {
    const trap = {
      session: 'cs_1',
      get broken(): string {
        throw new Error(SECRET);
      },
    };
    const { text, lines } = logged((log) => {
      log.error({ err: Object.create(null) }, 'thrown without a prototype');
      log.error(
        { err: new AggregateError([new Error(`one ${SECRET}`), new Error('other')], 'both failed') },
        'several',
      );
      log.error({ trap }, 'a getter that throws');
    });
    expect(lines).toMatchObject([
      { err: 'object' },
      { err: { message: 'both failed', errors: [{ message: 'one sks_live_[redacted]' }, { message: 'other' }] } },
      { unreadable: 'trap' },
    ]);
    expect(text).not.toContain(SECRET);
  });

  it('leave what they are given unchanged', () => {
    const facts = { inner: { token: KEY } };
    logged((log) => log.info(facts, 'x'));
    expect(facts).toEqual({ inner: { token: KEY } });
  });

  it('free errors of secrets in their message, stack, causes and whatever a library hung on them', () => {
    const cause = Object.assign(new Error(`Bearer ${KEY} refused`), { request: { headers: { authorization: KEY } } });
    const error = Object.assign(
      new Error(`failed with ${SECRET} at https://user:pass@rpc.example/v3/provider-key?k=${WEBHOOK_SECRET}`, {
        cause,
      }),
      {
        code: 'ECONNRESET',
        config: { secret: SECRET },
      },
    );
    const { text, lines } = logged((log) => log.error({ err: error }, 'it failed'));
    for (const hidden of [KEY, SECRET, WEBHOOK_SECRET, 'provider-key', 'user:pass', 'config', 'request'])
      expect(text).not.toContain(hidden);
    expect(lines[0]!.err).toMatchObject({ type: 'Error', code: 'ECONNRESET', cause: { type: 'Error' } });
    expect(text).toContain('https://');
    expect(text).toContain('rpc.example');
  });

  it('end a chain of causes that leads in a circle', () => {
    const first = new Error('first');
    const second = new Error('second', { cause: first });
    first.cause = second;
    expect(JSON.stringify(plainError(first)).length).toBeLessThan(20_000);
  });

  it('keep what is not secret', () => {
    expect(withoutSecrets('connect ECONNREFUSED 127.0.0.1:8545')).toBe('connect ECONNREFUSED 127.0.0.1:8545');
  });

  it('notify listeners of warnings and worse with the constant message only', () => {
    const heard: string[] = [];
    logged((log) => {
      onLogLine(log, ({ level, message }) => heard.push(`${level}: ${message}`));
      log.info({}, 'not this');
      log.warn({ provider: 'x' }, 'slow');
      log.child({ part: 'y' }).error({ err: new Error(KEY) }, 'broken');
      log.error(`plain ${KEY}`);
    });
    expect(heard).toEqual(['warn: slow', 'error: broken', 'error: plain sk_test_[redacted]']);
  });
});
