//! Assets: files that belong to a session beside its messages, and go with it.

use crate::application::Application;
use crate::assets::Upload;
use crate::scope::check_id;
use crate::store::AssetRecord;
use orlop_core::{Error, Result};

impl Application {
    /// Stores a file, with a session or on its own.
    pub async fn put_asset(
        &self,
        session_id: Option<&str>,
        upload: Upload,
        bytes: Vec<u8>,
    ) -> Result<AssetRecord> {
        self.put_asset_from(session_id, upload, std::io::Cursor::new(bytes)).await
    }

    /// Stores a file likewise, from wherever its bytes are read.
    pub async fn put_asset_from(
        &self,
        session_id: Option<&str>,
        upload: Upload,
        from: impl std::io::Read + Send + 'static,
    ) -> Result<AssetRecord> {
        self.clone().changing("store a file")?;
        let files = self.asset_files()?;
        if let Some(id) = session_id {
            self.outlined(id).await?;
        }
        let record = files.put_async(&self.scope, upload, from).await?;
        let record = AssetRecord { session: session_id.map(str::to_owned), ..record };
        if let Err(error) = self.shared.store.put_asset(&self.scope, &record).await {
            files.delete_async(&self.scope, vec![record.id]).await?;
            return Err(error);
        }
        Ok(record)
    }

    /// What is known of an asset, and its bytes.
    pub async fn read_asset(&self, id: &str) -> Result<(AssetRecord, Vec<u8>)> {
        let record = self.asset_record(id).await?;
        let bytes = self.asset_files()?.read_async(&self.scope, id).await?;
        Ok((record, bytes))
    }

    /// What is known of an asset, and its file, for those who pass it on piece by piece.
    pub async fn open_asset(&self, id: &str) -> Result<(AssetRecord, std::fs::File)> {
        let record = self.asset_record(id).await?;
        let file = self.asset_files()?.open_async(&self.scope, id).await?;
        Ok((record, file))
    }

    async fn asset_record(&self, id: &str) -> Result<AssetRecord> {
        check_id("asset", id)?;
        let record = self.shared.store.asset(&self.scope, id).await?;
        record.ok_or_else(|| Error::not_found(format!("there is no asset \"{id}\"")))
    }

    /// The assets of a session.
    pub async fn list_assets(&self, session_id: &str) -> Result<Vec<AssetRecord>> {
        check_id("session", session_id)?;
        self.shared.store.assets(&self.scope, Some(session_id)).await
    }

    /// Gives assets that belong to no session to one that is stored, so that they go with it.
    pub(crate) async fn adopt_assets(&self, ids: &[String], session_id: &str) -> Result<()> {
        if ids.is_empty() || self.shared.store.head(&self.scope, session_id).await?.is_none() {
            return Ok(());
        }
        for id in ids {
            let record = self.shared.store.asset(&self.scope, id).await?;
            if let Some(record) = record.filter(|record| record.session.is_none()) {
                let record = AssetRecord { session: Some(session_id.to_owned()), ..record };
                self.shared.store.put_asset(&self.scope, &record).await?;
            }
        }
        Ok(())
    }

    /// Deletes an asset.
    pub async fn delete_asset(&self, id: &str) -> Result<()> {
        check_id("asset", id)?;
        self.clone().changing("delete a file")?;
        if !self.shared.store.delete_asset(&self.scope, id).await? {
            return Err(Error::not_found(format!("there is no asset \"{id}\"")));
        }
        self.asset_files()?.delete_async(&self.scope, vec![id.to_owned()]).await
    }

    fn asset_files(&self) -> Result<&crate::assets::AssetFiles> {
        self.shared
            .assets
            .as_deref()
            .ok_or_else(|| Error::bad_state("this application keeps no attachments"))
    }
}
