import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SpilledMap } from '../../../src/adapters/sqlite/read-model/spilled-map.ts';
import { CommandRefused } from '../../../src/operator/server/commands.ts';
import { verifyFiles } from '../../../src/cli/audit.ts';
import { sessionStream } from '../../../src/domain/values/streams.ts';
import { sessionIdOf } from '../../support/random-history.ts';
import { createdFacts } from '../../support/session-facts.ts';
import { recordedEvents, signedExport } from '../../support/signed-export.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = temporaryFolder('audit-files');

function written(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

/** An export of one session for each order id, and what it is verified with. */
function exported(orderIds: readonly string[]) {
  const events = recordedEvents(
    orderIds.map((orderId, index) => {
      const sessionId = sessionIdOf(index);
      return [sessionStream(sessionId), { type: 'SessionCreated', data: createdFacts({ sessionId, orderId }) }];
    }),
    1_800_000_000_000,
  );
  const { lines, checkpoint, verifierKey } = signedExport(events);
  return { lines, with: { checkpoint: [written('checkpoint', checkpoint)], key: verifierKey } };
}

const verified = (options: Parameters<typeof verifyFiles>[0]) => verifyFiles(options, () => new SpilledMap());

describe('an export that is verified from files', () => {
  it('may contain any Unicode line separator in its texts', async () => {
    const { lines, with: rest } = exported(['a\u2028b', 'a\u2029b', 'a\u0085b']);
    const file = written('separators.jsonl', lines.map((line) => `${line}\n`).join(''));
    expect(await verified({ export: file, ...rest })).toMatchObject({ ok: true, fault: null, events: 3 });
  });

  it('is the same with line ends of Windows, and without the last one', async () => {
    const { lines, with: rest } = exported(['one', 'two']);
    const file = written('windows.jsonl', lines.join('\r\n'));
    expect(await verified({ export: file, ...rest })).toMatchObject({ ok: true, fault: null, events: 2 });
  });

  it('is longer than what is read at once, with lines across', async () => {
    const { lines, with: rest } = exported(Array.from({ length: 200 }, (_, index) => `order-\u20ac-${index}`));
    const file = written('long.jsonl', `${lines.join('\n')}\n`);
    expect(await verified({ export: file, ...rest })).toMatchObject({ ok: true, fault: null, events: 200 });
  });

  it('is refused in words when it cannot be read', async () => {
    const { with: rest } = exported(['one']);
    await expect(verified({ export: join(folder, 'absent'), ...rest })).rejects.toThrow(CommandRefused);
    await expect(verified({ export: folder, ...rest })).rejects.toThrow(/cannot be read: EISDIR/);
  });
});
