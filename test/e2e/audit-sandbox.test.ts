import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseCheckpoint, parseVerifierKey, verifySignature } from '../../src/runtime/merkle/checkpoint-note.ts';
import { verifyConsistency } from '../../src/runtime/merkle/tree.ts';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, '../..');
const PERSONAL = 'A kettle for Jane Roe';

interface Report {
  readonly ok: boolean;
  readonly fault: string | null;
}

interface ProofBody {
  readonly verifier_key: string;
  readonly checkpoint: { readonly checkpoint: string; readonly size: number } | null;
  readonly events: readonly { readonly type: string; readonly text: string; readonly hash: string }[];
  readonly pending_events: number;
}

describe('the audit of a running sandbox', () => {
  const folder = temporaryFolder('audit');
  const dataDir = join(folder, 'data');
  const file = (name: string): string => join(folder, name);
  const env = { AUDIT_CHECKPOINT_SECONDS: '1', SANDBOX_NETWORKS: 'ethereum' };
  let sandbox: RunningSandbox;
  let sessionId: string;

  const cli = async (...args: string[]): Promise<string> => {
    const { stdout } = await run(
      join(repository, 'node_modules/.bin/node'),
      [join(repository, 'bin/quittance.mjs'), ...args],
      {
        env: { ...process.env, DATA_DIR: dataDir },
      },
    ).catch((error: { stdout: string; stderr: string }) => ({ stdout: error.stdout || error.stderr }));
    return stdout;
  };
  const call = (method: string, path: string, body?: unknown) =>
    signedCall(sandbox.facts.base_url, sandbox.facts.merchant, method, path, body);
  const proofOf = async (id: string): Promise<ProofBody> =>
    (await call('GET', `/v1/payment/sessions/${id}/proof`)).json as unknown as ProofBody;
  const verify = async (): Promise<Report> =>
    JSON.parse(
      await cli(
        'audit',
        'verify',
        '--export',
        file('export.jsonl'),
        '--checkpoint',
        file('checkpoint.txt'),
        '--key',
        file('key.txt'),
        '--json',
      ),
    ) as Report;

  beforeAll(async () => {
    mkdirSync(dataDir);
    sandbox = await startRunningSandbox({ dataDir, env });
    const body = {
      amount: '12.50',
      currency: 'EUR',
      order_id: 'audited',
      description: PERSONAL,
      metadata: { email: 'jane@example.com' },
    };
    sessionId = (await call('POST', '/api/v1/checkout/sessions/create', body)).json.id as string;
    await call('POST', `/v1/sandbox/sessions/${sessionId}/pay`, { network: 'ethereum' });
    await eventually(
      'the payment',
      async () => (await call('GET', `/api/v1/checkout/sessions/${sessionId}`)).json.payment_status === 'paid',
      60_000,
    );
  }, 120_000);

  afterAll(() => sandbox?.stop());

  it('proves a payment to its merchant, verifiable from the response and the public key alone', async () => {
    const proof = await eventually('a checkpoint that covers the payment', async () => {
      const given = await proofOf(sessionId);
      return given.checkpoint && given.pending_events === 0 ? given : null;
    });
    expect(proof.events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['SessionCreated', 'DepositDetected', 'DepositConfirmed', 'SessionPaid']),
    );
    for (const { text, hash: claimed } of proof.events) expect(hash('sha256', text, 'hex')).toBe(claimed);
    writeFileSync(file('proof.json'), JSON.stringify(proof));
    writeFileSync(file('key.txt'), await cli('audit', 'key'));
    expect(readFileSync(file('key.txt'), 'utf8').trim()).toBe(proof.verifier_key);
    const report = JSON.parse(
      await cli('audit', 'verify', '--proof', file('proof.json'), '--key', file('key.txt'), '--json'),
    ) as Report;
    expect(report).toMatchObject({ ok: true, fault: null });
    const changed = {
      ...proof,
      events: proof.events.map((event) => ({ ...event, text: event.text.replace('13.50', '13.51') })),
    };
    writeFileSync(file('changed.json'), JSON.stringify(changed));
    expect(
      JSON.parse(await cli('audit', 'verify', '--proof', file('changed.json'), '--key', file('key.txt'), '--json')),
    ).toMatchObject({
      ok: false,
    });
  });

  it('lets the payer download a proof from the receipt, which verifies the same way', async () => {
    const receipt = await (await fetch(`${sandbox.facts.base_url}/pay/${sessionId}/receipt`)).text();
    expect(receipt).toContain(`/pay/${sessionId}/proof.json`);
    const answer = await fetch(`${sandbox.facts.base_url}/pay/${sessionId}/proof.json`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-disposition')).toContain(sessionId);
    const proof = (await answer.json()) as ProofBody;
    expect(proof.events.map(({ type }) => type)).toContain('SessionPaid');
    expect(JSON.stringify(proof)).not.toContain('personal');
    writeFileSync(file('payer.json'), JSON.stringify(proof));
    expect(
      JSON.parse(await cli('audit', 'verify', '--proof', file('payer.json'), '--key', file('key.txt'), '--json')),
    ).toMatchObject({ ok: true });
  });

  it('lists checkpoints, newest first, each proven to continue the one before', async () => {
    const { json } = await call('GET', '/v1/audit/checkpoints?page_size=2');
    const listed = (json as unknown as { data: { size: number; checkpoint: string }[]; verifier_key: string }).data;
    expect(listed).toHaveLength(2);
    const [newer, older] = listed.map(({ checkpoint }) => parseCheckpoint(checkpoint)!);
    const key = parseVerifierKey((json as unknown as { verifier_key: string }).verifier_key)!;
    expect([verifySignature(newer!, key), verifySignature(older!, key)]).toEqual(['valid', 'valid']);
    const answer = await call('GET', `/v1/audit/consistency?from=${older!.size}&to=${newer!.size}`);
    const proof = (answer.json.proof as string[]).map((node) => Buffer.from(node, 'base64'));
    expect(verifyConsistency(older!.size, newer!.size, proof, older!.root, newer!.root)).toBe(true);
    expect((await call('GET', '/v1/audit/consistency?from=1&to=99999999')).json.error).toMatchObject({
      code: 'invalid_request',
      param: 'to',
    });
    expect((await call('GET', '/v1/audit/checkpoints?cursor=x')).json.error).toMatchObject({
      code: 'invalid_request',
      param: 'cursor',
    });
  });

  it('keeps every proof valid when personal data is erased, even that of an earlier export', async () => {
    writeFileSync(file('checkpoint.txt'), await cli('audit', 'checkpoint', '--now'));
    await cli('audit', 'export', '--output', file('export.jsonl'));
    const before = readFileSync(file('export.jsonl'), 'utf8');
    const proofBefore = await proofOf(sessionId);
    expect(before).not.toContain('Jane');
    expect(before).not.toContain('jane@example.com');
    expect(JSON.stringify((await call('GET', `/api/v1/checkout/sessions/${sessionId}`)).json)).toContain(
      'jane@example.com',
    );

    expect(JSON.parse(await cli('forget', sessionId, '--json'))).toEqual({ id: sessionId, erased: true });
    expect(JSON.stringify((await call('GET', `/api/v1/checkout/sessions/${sessionId}`)).json)).not.toMatch(/jane/i);
    expect(JSON.stringify((await call('GET', '/v1/payment/sessions')).json)).not.toMatch(/jane/i);
    expect(await verify()).toMatchObject({ ok: true });
    await cli('audit', 'export', '--output', file('export.jsonl'));
    expect(readFileSync(file('export.jsonl'), 'utf8').startsWith(before)).toBe(true);
    expect(await verify()).toMatchObject({ ok: true });
    writeFileSync(file('proof.json'), JSON.stringify(proofBefore));
    expect(
      JSON.parse(await cli('audit', 'verify', '--proof', file('proof.json'), '--key', file('key.txt'), '--json')),
    ).toMatchObject({ ok: true });
    expect((await call('GET', `/api/v1/checkout/sessions/${sessionId}`)).json).toMatchObject({
      payment_status: 'paid',
      amount_total: '12.50',
    });
  });

  it('becomes read-only if an amount was changed in the file, says where, and still serves reads', async () => {
    const other = (
      await call('POST', '/api/v1/checkout/sessions/create', { amount: '2.00', currency: 'USD', order_id: 'untouched' })
    ).json.id as string;
    const metrics = async (): Promise<string> => (await fetch(`${sandbox.facts.ops_url}/metrics`)).text();
    const isReadOnly = async (): Promise<boolean> => (await metrics()).includes('\nquittance_read_only 1');
    expect(await isReadOnly()).toBe(false);
    tamper(dataDir, sessionId);
    await eventually('read-only mode of the running service', isReadOnly);
    expect((await call('POST', '/v1/refunds', { session_id: sessionId })).json.error?.code).toBe('read_only');
    expect((await call('GET', `/api/v1/checkout/sessions/${other}`)).status).toBe(200);
    expect(JSON.parse(await cli('audit', 'status', '--json'))).toMatchObject({
      integrity: 'damaged',
      fault: expect.stringMatching(/events? \d+/),
    });
    await sandbox.stop();
    sandbox = await startRunningSandbox({ dataDir, env });
    await eventually('read-only mode after the start', isReadOnly);
    const refused = await call('POST', '/api/v1/checkout/sessions/create', {
      amount: '1.00',
      currency: 'USD',
      order_id: 'refused',
    });
    expect(refused).toMatchObject({ status: 503, json: { error: { code: 'read_only' } } });
    expect((await call('POST', '/v1/refunds', { session_id: sessionId })).json.error?.code).toBe('read_only');
    expect((await call('GET', `/api/v1/checkout/sessions/${other}`)).status).toBe(200);
    expect((await call('GET', '/v1/payment/sessions')).status).toBe(200);
    expect((await fetch(`${sandbox.facts.base_url}/pay/${other}`)).status).toBe(200);
    const status = JSON.parse(await cli('audit', 'status', '--json')) as {
      integrity: string;
      read_only: boolean;
      reason: string;
    };
    expect(status).toMatchObject({ read_only: true });
    expect(status.reason).toMatch(/(event|position) \d+|history differs between/);
    expect(sandbox.output()).toContain('the event log has changed: the service is read-only');
    expect(await (await fetch(`${sandbox.facts.ops_url}/`)).text()).toContain('Read-only');
    await cli('audit', 'export', '--output', file('export.jsonl'));
    expect((await verify()).fault).toMatch(/event \d+|history differs/);
  });
});

/** Changes the amount of the session's deposit and makes hashes, `prev` and chain fit again, as the operator could. */
function tamper(directory: string, id: string): void {
  // One transaction, since the service goes on writing; and quickly, since connections kept open end while this process
  // stands still.
  const db = new DatabaseSync(join(directory, 'events.db'), { timeout: 20_000 });
  db.exec('BEGIN IMMEDIATE');
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  const heads = new Map<string, string>();
  let chain = '0'.repeat(64);
  type Row = {
    position: number;
    stream: string;
    revision: number;
    id: string;
    type: string;
    version: number;
    at_ms: number;
    data: string;
    metadata: string;
  };
  for (const row of db.prepare('SELECT * FROM events ORDER BY position').all() as unknown as Row[]) {
    const data =
      row.stream === `session-${id}` && row.type === 'DepositDetected'
        ? row.data.replace('"amount":"13.5', '"amount":"93.5')
        : row.data;
    const metadata = row.metadata.replace(/"prev":"[0-9a-f]*"/, `"prev":"${heads.get(row.stream) ?? ''}"`);
    const fields = [row.stream, row.revision, row.id, row.type, row.version, row.at_ms].map((field) =>
      JSON.stringify(field),
    );
    const own = hash('sha256', `[${fields.join(',')},${data},${metadata}]`, 'hex');
    chain = hash('sha256', chain + own, 'hex');
    heads.set(row.stream, own);
    db.prepare('UPDATE events SET data = ?, metadata = ?, hash = ?, chain = ? WHERE position = ?').run(
      data,
      metadata,
      own,
      chain,
      row.position,
    );
  }
  for (const { sql } of triggers) db.exec(sql);
  db.exec('COMMIT');
  db.close();
  rmSync(join(directory, 'events.anchor.json'), { force: true });
}
