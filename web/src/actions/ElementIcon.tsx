//! Icons that plugins name. What is not known gets a plain one.

import { Archive, Bookmark, Box, Download, FileText, Flag, FolderOpen, Globe, KeyRound, type LucideIcon, Mail, Pencil, Play, RefreshCw, Scissors, Search, Settings, Share2, Sparkles, Star, Tag, Trash2, Upload, Zap } from "lucide-react";

const ICONS: Record<string, LucideIcon> = {
  archive: Archive,
  bookmark: Bookmark,
  delete: Trash2,
  download: Download,
  edit: Pencil,
  file: FileText,
  flag: Flag,
  folder: FolderOpen,
  globe: Globe,
  key: KeyRound,
  login: KeyRound,
  mail: Mail,
  play: Play,
  refresh: RefreshCw,
  cut: Scissors,
  search: Search,
  settings: Settings,
  share: Share2,
  sparkles: Sparkles,
  star: Star,
  tag: Tag,
  trash: Trash2,
  upload: Upload,
  zap: Zap,
};

export function ElementIcon({ name }: { name: string | null }) {
  const Icon = (name && ICONS[name.toLowerCase()]) || Box;
  return <Icon aria-hidden />;
}
