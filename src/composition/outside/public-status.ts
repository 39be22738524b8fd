import { accessSync, constants, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidConfig } from '../../config.ts';
import { holding, readWritten } from '../../domain/values/written-json.ts';
import { publicStatus, type PublicStatus } from '../../observability/public-status.ts';
import { PUBLIC_STATUS_PAGE } from '../../observability/public-status-page.ts';
import type { ServiceStatus } from '../../observability/service-status.ts';
import type { Log } from '../../ports/log.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

const INTERVAL_SEC = 30;

/**
 * Writes public information into a folder served elsewhere, continuing from its previous contents. Throws
 * `InvalidConfig`.
 */
export function startPublicStatus(folder: string, status: Pick<ServiceStatus, 'status'>, log: Log): { close(): void } {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    put(join(folder, 'index.html'), PUBLIC_STATUS_PAGE);
  } catch (error) {
    throw new InvalidConfig(`PUBLIC_STATUS_DIR: ${messageOf(error)}`, { cause: error });
  }
  const file = join(folder, 'status.json');
  let before = writtenBefore(file);
  const write = (): void => {
    try {
      before = publicStatus(status.status(), before, INTERVAL_SEC);
      put(file, `${JSON.stringify(before)}\n`);
    } catch (error) {
      log.warn({ err: error }, 'the public status could not be written');
    }
  };
  write();
  const timer = setInterval(write, INTERVAL_SEC * 1000);
  timer.unref();
  return { close: () => clearInterval(timer) };
}

/** Atomic, so that readers never see half a file. */
function put(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o644 });
  renameSync(`${file}.new`, file);
}

const isOfAnyFormat = holding<PublicStatus>('format');
const isPublicStatus = (value: unknown): value is PublicStatus => isOfAnyFormat(value) && value.format === 1;

function writtenBefore(file: string): PublicStatus | null {
  try {
    return readWritten(readFileSync(file, 'utf8'), isPublicStatus);
  } catch {
    return null;
  }
}
