import { afterAll } from 'vitest';
import { removeTemporaryFolders } from './temporary-folder.ts';

/* Runs before each test file. */

afterAll(removeTemporaryFolders);
